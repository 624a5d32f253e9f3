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
// A manifest is stored after everything that it refers to, and a tag is set after all content of the image and its
// signatures are stored. So a killed run leaves no incomplete image, and the next run skips existing content.
//
// # Phases
//
// The plan finds every manifest of every image once, and in the target before the source; and the signatures and
// referrers of each: the tags of cosign, and referrers by API or by tag schema. Small manifests are kept until they are
// copied, within a budget; the others are read again.
//
// The run copies the missing content through go-containerregistry. A blob is streamed from the source once, and then
// mounted or read from the target for other repositories. The state of the target is the progress, so there is no
// journal: the [Record] is written once, at the end. A directory is read by its record, also by another opm.
package mirror
