// Package publish makes an image of a catalog that serves it, without a container engine.
//
//	catalog := declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")}
//	binary, err := publish.Self("linux/amd64")
//	if err != nil {
//		return err
//	}
//	defer binary.Close()
//	platform := publish.Platform{Name: "linux/amd64", Binary: binary}
//	built, err := publish.Build(ctx, catalog, publish.Options{Platforms: []publish.Platform{platform}})
//	if err != nil {
//		return err
//	}
//	defer built.Close()
//	digest, err := image.Push(ctx, built.Artifact, "quay.io/org/catalog:v1", image.Options{})
//
// The image has the entry point, paths and labels of one that is built with the Dockerfile of opm generate dockerfile.
// The same files, binaries and options give the same digest, wherever and by whomever it is built.
//
// The packages of a catalog are spread over at most 40 layers, so that an update of one of them leaves most layers as
// they are. The store, from which opm serves at once, is a layer of its own.
package publish
