package store_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func Example() {
	const catalog = `---
schema: olm.package
name: etcd
defaultChannel: stable
---
schema: olm.channel
package: etcd
name: stable
entries: [{name: etcd.v2, replaces: etcd.v1}, {name: etcd.v1}]
---
schema: olm.bundle
package: etcd
name: etcd.v1
image: quay.io/example/etcd:v1
properties: [{type: olm.package, value: {packageName: etcd, version: 1.0.0}}]
---
schema: olm.bundle
package: etcd
name: etcd.v2
image: quay.io/example/etcd:v2
properties: [{type: olm.package, value: {packageName: etcd, version: 2.0.0}}]
`
	ctx := context.Background()
	source := declcfg.Source{Name: "catalog", FS: fstest.MapFS{"etcd.yaml": {Data: []byte(catalog)}}}
	key, err := store.KeyOf(ctx, source)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := store.Write(ctx, &file, key, store.BuildOptions{}, source); err != nil {
		log.Fatal(err)
	}
	s, err := store.New(bytes.NewReader(file.Bytes()), int64(file.Len()), key)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	for message, err := range s.Bundles() {
		var b api.Bundle
		if err == nil {
			err = proto.Unmarshal(message, &b)
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s in %s replaces %q\n", b.GetCsvName(), b.GetChannelName(), b.GetReplaces())
	}
	update, err := s.Replacement("etcd.v1", "etcd", "stable")
	fmt.Println(update, err)
	_, err = s.ChannelHead("etcd", "beta")
	fmt.Println(err)
	// Output:
	// etcd.v1 in stable replaces ""
	// etcd.v2 in stable replaces "etcd.v1"
	// etcd.v2 <nil>
	// package "etcd", channel "beta" not found
}
