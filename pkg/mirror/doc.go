// Package mirror copies images, with their signatures and all else that refers to them, from registries to a registry
// or to a directory, and from such a directory to a registry.
//
//	to, err := mirror.ToRegistry(opener, "mirror.example/crafts")
//	if err != nil {
//		return err
//	}
//	plan, err := mirror.NewPlan(ctx, images, to, mirror.Options{Opener: opener})
//	if err != nil {
//		return err
//	}
//	result, err := plan.Run(ctx) // it has the images that could not be copied
//
// A manifest is stored when all that it refers to is stored, and a tag is set when all that belongs to the image is
// stored. So a run that was killed leaves nothing incomplete, and the next one skips what is there.
package mirror
