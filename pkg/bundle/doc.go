// Package bundle turns the files of a bundle into what a catalog says of it, and makes and checks such files.
//
//	b, err := bundle.Parse(os.DirFS("oak/1.0.0"), "oak/1.0.0", bundle.Options{})
//	// b is the olm.bundle object that a catalog holds, its manifests among the properties
//	err = bundle.ToMetadata(b) // unless they are to be fetched from its image
//
// A bundle is a directory, or the root of an image, that holds manifests/ and metadata/. What is in them, and what a
// catalog keeps of it, are as in opm: https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/
//
//	labels := bundle.Labels{MediaType: bundle.MediaTypeRegistry, Package: "oak", Channels: "stable"}
//	os.WriteFile("oak/1.0.0/metadata/annotations.yaml", labels.Annotations(), 0o644)
//	problems := bundle.Check(os.DirFS("oak/1.0.0"), "oak/1.0.0", bundle.CheckOptions{})
package bundle
