// Package bundle turns the files of a bundle into what a catalog says of it.
//
//	metadata, err := bundle.CSVMetadata(csv) // the ClusterServiceVersion of the bundle, in JSON
package bundle
