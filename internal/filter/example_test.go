package filter_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Keep the versions of a package before 1.2.0. The change of the head is reported.
func Example() {
	ctx := context.Background()
	index, err := declcfg.ReadIndex(ctx, declcfg.Source{FS: fstest.MapFS{"kiln.yaml": {Data: []byte(`
{schema: olm.package, name: kiln, defaultChannel: stable}
---
{schema: olm.channel, package: kiln, name: stable,
  entries: [{name: kiln.v1.2.0, replaces: kiln.v1.1.0}, {name: kiln.v1.1.0}]}
---
{schema: olm.bundle, package: kiln, name: kiln.v1.2.0, image: "quay.io/kiln/kiln:v1.2.0",
  properties: [{type: olm.package, value: {packageName: kiln, version: 1.2.0}}]}
---
{schema: olm.bundle, package: kiln, name: kiln.v1.1.0, image: "quay.io/kiln/kiln:v1.1.0",
  properties: [{type: olm.package, value: {packageName: kiln, version: 1.1.0}}]}
`)}}})
	if err != nil {
		log.Fatal(err)
	}
	packages, err := filter.ParsePackages("kiln:stable@<1.2.0")
	if err != nil {
		log.Fatal(err)
	}
	result, err := filter.Select(ctx, filter.Catalog{Index: index}, filter.Selection{Packages: packages})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Changes {
		fmt.Println(c)
	}
	opts := declcfg.WriteOptions{Format: declcfg.YAML, EditObject: result.Edit}
	if err := declcfg.Write(ctx, os.Stdout, result.Metas, opts); err != nil {
		log.Fatal(err)
	}
	// Output:
	// package "kiln": channel "stable": the head is "kiln.v1.1.0", was "kiln.v1.2.0"
	// ---
	// defaultChannel: stable
	// name: kiln
	// schema: olm.package
	// ---
	// entries:
	// - name: kiln.v1.1.0
	// name: stable
	// package: kiln
	// schema: olm.channel
	// ---
	// image: quay.io/kiln/kiln:v1.1.0
	// name: kiln.v1.1.0
	// package: kiln
	// properties:
	// - type: olm.package
	//   value:
	//     packageName: kiln
	//     version: 1.1.0
	// schema: olm.bundle
}
