// Package store keeps a catalog in one immutable file from which a registry answers at once: answers are kept as the
// protobuf fields that are sent, so that nothing is decoded to be encoded again.
//
//	key, err := store.KeyOf(ctx, sources...)
//	s, err := store.Open(path, key)
//	if err != nil { // which says why the file cannot be used
//		s, err = store.Temp(ctx, "", key, store.BuildOptions{}, sources...)
//	}
//	defer s.Close()
//	bundle, err := s.Bundle(nil, "etcd", "stable", "etcd.v1.0.0") // an api.Bundle, encoded
//
// What the answers are is the registry protocol as opm serves it; see package api. They come in one order on every run.
// A file is read with positioned reads and without locks, so it may lie on a read-only file system, and any number of
// processes may read it while others build it anew: those get a new file of the same name.
//
// # The file
//
// All numbers are little endian. A file is a header, records, an index and a footer, without anything between them. The
// same catalog makes the same bytes, whoever builds it.
//
// The header has 32 bytes:
//
//	 0  8  "opmstore"
//	 8  4  version of the format: 1
//	12  4  0
//	16  8  key of the catalog
//	24  8  xxhash of the 24 bytes before
//
// A record is any number of bytes whose place, size and xxhash are in the index. It is stored as it is or, where that
// saves a third and for lists and frames always, as one zstd frame. What records hold:
//
//   - A body is all that GetBundle says of a bundle whatever the channel, in fields as of protocol buffers: 1 the
//     fields of api.Bundle but for those of the channel, the manifests and the deprecation; 2 for each manifest; 3 the
//     number of the manifest that is the ClusterServiceVersion, from 1. Where it was made up from olm.csv.metadata
//     there are instead, in the order of its text: 4 a part of the text; 5 where the description of the package goes;
//     6 where its icon goes.
//   - The description and the icon of a package, each as a member of the spec of a ClusterServiceVersion with a comma
//     before it.
//   - A list is messages of ListBundles, each with its length before it as a varint. They are without the manifests
//     that bundles without an image have in it; those come from the body.
//   - A google.protobuf.Struct for every object of a schema that is none of the format's own.
//   - A frame is JSON lines, several small ones or one large one. The frames of a catalog behind each other are the
//     whole of it in zstd.
//
// The index is how many rows each of its 19 tables has, and how many bytes of strings there are (4 bytes each, 80 in
// all); the tables; the strings. A row is numbers of 4 bytes. Those for texts are rows of the table of strings. Those
// with a + are a row plus one, 0 for none. Two numbers with a colon are the first row of a run and how many rows it
// has; with a slash, the lower and the upper half of one number:
//
//	 0 strings     end of the string among the bytes of all; sorted, each once, the first is ""
//	 1 records     offset/ in the file, size, size of the content (0 where it is not compressed), xxhash/
//	 2 packages    name, default channel, deprecation+ (a string), channels:, bundles:, description+, icon+ (records);
//	               by name
//	 3 channels    name, package, head (an entry), deprecation+ (a string), entries:; by package and name
//	 4 entries     channel, bundle, replaces, skipRange, skips:, rank; by package, channel and name
//	 5 bundles     name, package, body (a record), deprecation+ (a string), 1 for one without an image, else 0; by
//	               package and name
//	 6 skips       name
//	 7 order       channels by name, and then by package
//	 8 lists       record, number of messages; the messages are those of the channels in that order
//	 9 kinds       group, version, kind, providers:; sorted
//	10 providers   entry
//	11 edges       name, an entry that replaces it or skips it (once for every skip of it, unless it replaces it); sorted
//	12 custom      schema, package, record; sorted by schema and package, then in the order of the catalog
//	13 catalogs    frames:, lines:, size/, size in zstd/
//	14 frames      record, where it begins in the catalog/, and in its zstd/
//	15 lines       frame, offset in the frame, size, schema, package, name
//	16 by schema   lines; those of each catalog in the run that its lines have, by schema and then in their order
//	17 by package  lines, so by package
//	18 by name     lines, so by name
//
// The rank of an entry tells how near it is to the head, which has 0; see [Store.Replacement]. Tables 13 to 18 are
// empty without [BuildOptions].HTTP.
//
// The footer has 48 bytes:
//
//	 0  8  size of the file
//	 8  8  offset of the index
//	16  8  size of the index
//	24  8  xxhash of the index
//	32  8  xxhash of the 32 bytes before
//	40  8  "opmindex"
package store
