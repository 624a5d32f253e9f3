// Package declcfg reads and writes file-based catalogs: trees of JSON and YAML files that hold packages, their
// channels, the bundles in them and the updates between bundles.
//
//	source := declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")}
//	metas, err := declcfg.Metas(ctx, source)
//	if err != nil {
//		return err
//	}
//	declcfg.Sort(metas)
//	err = declcfg.Write(ctx, os.Stdout, metas, declcfg.WriteOptions{Format: declcfg.YAML})
//
// # Model
//
// A [Meta] is the identity of one object: its schema, package, name and position. An [Object] is a Meta with the text
// of the object. [Package], [Channel], [Bundle] and [Deprecations] are typed views of it; keys that the format does not
// define are kept in their fields Unknown. Most of a catalog is text that most programs never look at. It stays raw, is
// decoded on request, and is not kept: a Meta can be read again at any time.
//
// # Reading
//
// Files are read in lexical order; .indexignore works as upstream's. [Map] passes each object to a function, on several
// goroutines, and yields the results in order. [Convert] does this for results that do not depend on the position, and
// [Collect] also joins and sorts the errors. [Metas] and [ReadIndex] are made of Collect. [ReadAll] reads given objects
// again, and keeps their file open.
//
// Nothing is lost: an unreadable document is an error with its position, and reading continues. With [Source].Withheld,
// the packages that have errors, or may have lost a part, are left out, so that no other reader needs to know of them.
//
// # Memory
//
// An [Index] has the fields that relate objects to each other. They are packed in bytes by package, about 100 for a
// bundle with its entries in channels. [Index.Each] unpacks one package at a time, for programs that go through all
// packages once; [Index.Package] keeps the unpacked package.
//
// # Writing
//
// [Write] and [WriteDir] read the objects again in parallel, and write one after the other, so that the output is never
// in memory as a whole. All objects were read once before, so a program need not print anything of a catalog that
// cannot be read. A file that changes in between is detected by the hash of each object, and by the size and time of
// the file with [Source].Record; the output must then be discarded.
package declcfg
