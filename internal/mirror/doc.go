// Package mirror copies images, with their signatures and all other referrers, from registries to a registry or to a
// directory, and from such a directory to a registry.
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
// A manifest is stored after everything that it refers to, and a tag is set after all content of the image is stored.
// So a killed run leaves no incomplete image, and the next run skips existing content.
package mirror
