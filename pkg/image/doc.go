// Package image opens container images and reads files from their layers, builds images and pushes them, all without
// a container engine. An image comes from a registry, an OCI layout or an archive; nothing is unpacked to disk.
//
//	cache := image.OpenCache(dir, image.CacheOptions{})
//	defer cache.Close()
//	opener := image.NewOpener(image.Options{Cache: cache})
//	defer opener.Close()
//	img, err := opener.Open(ctx, "quay.io/operatorhubio/catalog:latest")
//	if err != nil {
//		return err
//	}
//	defer img.Close()
//	kind, dir, err := img.Kind()
//	if err != nil {
//		return err
//	}
//	fsys, err := img.Files(ctx, dir)
//
// Build builds an image; Push, WriteLayout and WriteArchive write it to a place that Open can read:
//
//	img, err := image.Build(image.BuildOptions{
//		Labels:   map[string]string{image.LabelPackage: "foo"},
//		Contents: []image.Content{{Source: os.DirFS("bundle"), Dir: "manifests", Target: "manifests/"}},
//	})
//	if err != nil {
//		return err
//	}
//	digest, err := image.Push(ctx, img, "quay.io/org/foo-bundle:v1.0.0", image.Options{})
//
// Images are untrusted: reading one touches no file outside the cache, and Limits bound its cost. Everything is
// verified against its digest.
package image
