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
//
// # Reading
//
// The library go-containerregistry logs in, and only the blobs that are read are fetched. They are cached by digest.
// Layers are decompressed in parallel, the largest first. Their files stay compressed in a spool until all layers have
// been read, since a layer can remove the files of another. A layer of [Content].Files is annotated with its names,
// such as the layers of opm and of the store that opm build makes, and is not fetched if none of them is wanted. That
// trusts the builder of the image no more than its label does, which says where the catalog is.
//
// The packages layout and tarball of the library are not used: they verify no digests, have no limits, and read no
// compressed archives.
//
// # Registries
//
// [NewTransport] lists the transports that add what the library lacks. Addresses that a registry refers to (redirects,
// token servers, upload locations) are checked when the connection is made: they must be on the internet or in the
// registry's own network, and never plain HTTP after TLS. Plain HTTP needs [Options].Insecure or an insecure mirror.
//
// Credentials are found by pkg/docker/config of go.podman.io, in upstream's order of files. [Explain] asks the same
// code.
package image
