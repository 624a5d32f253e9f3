// Package store keeps a catalog in one immutable file that answers the queries of a registry. Responses are stored as
// protobuf fields, so that nothing is decoded and encoded again.
//
//	key, err := store.KeyOf(ctx, sources...)
//	s, err := store.Open(path, key)
//	if err != nil { // the reason why the file cannot be used
//		s, err = store.Temp(ctx, "", key, store.BuildOptions{}, sources...)
//	}
//	defer s.Close()
//	bundle, err := s.Bundle("etcd", "stable", "etcd.v1.0.0")
//	message, err := bundle.Message(nil) // an api.Bundle, encoded
//
// The responses follow the registry protocol as opm serves it; see package api. Their order is always the same. A file
// is read with positioned reads and without locks, so it may be on a read-only file system, and any number of processes
// may read it while others replace it with a new file of the same name.
//
// # The file
//
// All numbers are little endian. A file is a header, records, an index and a footer, without gaps. The same catalog
// always produces the same bytes.
//
// The header has 32 bytes:
//
//	 0  8  "opmstore"
//	 8  4  version of the format: 4
//	12  4  0
//	16  8  key of the catalog
//	24  8  xxhash of the 24 bytes before
//
// A record is any number of bytes whose place, size and xxhash are in the index. A frame is stored as one zstd frame,
// any other record as one s2 block if that saves a third, and else as it is. The records are:
//
//   - A body is the part of a response to GetBundle that does not depend on the channel, in fields of protocol buffers:
//     1 the fields of api.Bundle except for the fields of the channel, the manifests and the deprecation; 5 for each
//     manifest, as in api.Bundle; 2 the number of the manifest that is the ClusterServiceVersion, from 1. If this was
//     made from olm.csv.metadata there are instead, in the order of its text: 3 a part of the text; 4 in place of the
//     description of the package; 6 in place of its icon.
//   - The description and the icon of a package, each as a member of the spec of a ClusterServiceVersion with a comma
//     before it.
//   - A list is messages of ListBundles, each with its length before it as a varint. The manifests of bundles without
//     an image are added from the body.
//   - A google.protobuf.Struct for every object of a custom schema.
//   - JSON lines, several small ones or one large one.
//   - A frame is more of these lines. The frames of a catalog, one after another, are the whole catalog in zstd.
//   - A part of a whole catalog in gzip.
//
// The index is the number of rows of each of its 18 tables, and the number of bytes of strings (4 bytes each, 76 in
// all); the tables; the strings. The columns of a table are the fields of the Go type of its rows, without anything
// between them. The tables, in their order:
//
//	strings     all texts that rows refer to; sorted, each once, the first is ""
//	records     all records
//	packages    by name
//	channels    by package and name
//	entries     by channel, package and bundle
//	bundles     by package and name
//	skips       of entries
//	lists       in the order of entries; together they have a message for each of these
//	kinds       by group, version and kind
//	providers   entries of bundles that provide a kind; by package, channel and bundle
//	edges       names, each with an entry that replaces it or skips it (once for every skip of it, unless it replaces
//	            it); by name
//	custom      by schema and package, then in the order of the catalog
//	catalogs    as they were given
//	frames      in the order of the catalogs; the frames of one in zstd, then its parts in gzip
//	lines       in the order of the catalogs
//	by schema   lines; the run of a catalog is the run of its lines, by schema and then in their order
//	by package  lines, so by package
//	by name     lines, so by name
//
// The rank of an entry is counted from the head, which has 0; see [Store.Replacement]. Tables from catalogs on
// are empty without [BuildOptions].HTTP.
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
