// Package publish builds a catalog image that can serve the catalog, without a container engine.
//
//	catalog := declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")}
//	binary, err := publish.Self(ctx, "linux/amd64", "")
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
// The image has the entry point, paths and labels of an image built with the Dockerfile of opm generate dockerfile.
// The same files, binaries and options give the same digest, on any machine.
//
// The packages of a catalog are spread over at most 40 layers, by a hash of their names, so that an updated package
// changes one layer, and the store. The store, from which opm serves without building one first, is a layer of its own.
// Layers are packed in parallel into unlinked temporary files.
//
// An image contains nothing of the machine that builds it: users, modes and times are fixed, and the certificate
// authorities come from a Go module. The build information of the opm in a base image says whether it can read the
// store; the program is not run.
package publish
