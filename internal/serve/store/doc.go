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
//	 8  4  version of the format: 5
//	12  4  0
//	16  8  key of the catalog
//	24  8  xxhash of the 24 bytes before
//
// A record is any number of bytes whose size and xxhash are in the index. A frame is stored as one zstd frame,
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
// The index is one message of protocol buffers; see package index. It has the sizes and hashes of all records, and
// everything that queries need except for the content of records. The rank of an entry is its order in
// [Store.Replacement].
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
