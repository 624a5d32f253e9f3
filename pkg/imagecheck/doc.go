// Package imagecheck tells whether the images exist that a catalog names: those of its bundles, and the related images
// that a cluster without access to the internet has to mirror.
//
//	references, err := imagecheck.Read(ctx, catalog.Sources...)
//	if err != nil {
//		return err
//	}
//	opener := image.NewOpener(image.Options{})
//	defer opener.Close()
//	report, err := imagecheck.Check(ctx, references, opener, imagecheck.Options{})
//	if err != nil {
//		return err
//	}
//	err = imagecheck.WriteText(os.Stdout, report)
//
// Nothing is downloaded: registries and mirrors are asked for digests only.
package imagecheck
