package declcfg_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// catalog is usually a directory: os.DirFS("catalog").
var catalog = fstest.MapFS{
	"foo/channels.yaml": {Data: []byte("schema: olm.channel\npackage: foo\nname: stable\nentries:\n- name: foo.v1.0.0\n")},
	"foo/package.yaml":  {Data: []byte("schema: olm.package\nname: foo\ndefaultChannel: stable\n")},
}

func ExampleMap() {
	describe := func(o *declcfg.Object) (string, error) { // called on several goroutines
		return fmt.Sprintf("%v: %s %s", o.Pos, o.Schema, o.Name), nil
	}
	source := declcfg.Source{Name: "catalog", FS: catalog}
	for text, err := range declcfg.Map(context.Background(), describe, source) {
		if err != nil {
			log.Print(err) // such as: catalog/foo/package.yaml:3:1: ...
			continue
		}
		fmt.Println(text)
	}
	// Output:
	// catalog/foo/channels.yaml:1:1: olm.channel stable
	// catalog/foo/package.yaml:1:1: olm.package foo
}

func ExampleWrite() {
	var metas []*declcfg.Meta // small: Write reads the objects again
	keep := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	source := declcfg.Source{Name: "catalog", FS: catalog}
	for meta, err := range declcfg.Map(context.Background(), keep, source) {
		if err != nil {
			log.Fatal(err)
		}
		metas = append(metas, meta)
	}
	declcfg.Sort(metas)
	opts := declcfg.WriteOptions{Format: declcfg.YAML}
	if err := declcfg.Write(context.Background(), os.Stdout, metas, opts); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ---
	// defaultChannel: stable
	// name: foo
	// schema: olm.package
	// ---
	// entries:
	// - name: foo.v1.0.0
	// name: stable
	// package: foo
	// schema: olm.channel
}

func ExampleReadIndex() {
	index, err := declcfg.ReadIndex(context.Background(), declcfg.Source{Name: "catalog", FS: catalog})
	if err != nil {
		log.Fatal(err)
	}
	for _, channel := range index.Package("foo").Channels {
		fmt.Println(channel.Value.Name, channel.Value.Entries[0].Name)
	}
	// Output: stable foo.v1.0.0
}
