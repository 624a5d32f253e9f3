package diff_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Fail if a change leaves installed bundles without an update path.
func Example() {
	const bundles = `
{schema: olm.package, name: kiln, defaultChannel: stable}
---
{schema: olm.bundle, package: kiln, name: kiln.v1.0.0,
  properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]}
---
{schema: olm.bundle, package: kiln, name: kiln.v1.1.0,
  properties: [{type: olm.package, value: {packageName: kiln, version: 1.1.0}}]}
---
`
	catalog := func(channel string) []declcfg.Source {
		return []declcfg.Source{{FS: fstest.MapFS{"kiln.yaml": {Data: []byte(bundles + channel)}}}}
	}
	before := catalog(`{schema: olm.channel, package: kiln, name: stable,
  entries: [{name: kiln.v1.1.0, replaces: kiln.v1.0.0}, {name: kiln.v1.0.0}]}`)
	after := catalog(`{schema: olm.channel, package: kiln, name: stable,
  entries: [{name: kiln.v1.1.0}]}`)

	report, err := diff.Compare(context.Background(), before, after)
	if err != nil {
		log.Fatal(err)
	}
	if err := report.Report().Text(os.Stdout); err != nil {
		log.Fatal(err)
	}
	fmt.Println("fail:", report.Fail(diff.LostPath))
	// Output:
	// 1 package changed
	// 1 channel changed
	// 1 install loses its update path: kiln (1)
	// 1 entry of a channel removed: kiln (1)
	// 1 entry has other edges
	//
	// kiln: 1 stranded install, 1 channel changed
	//   1 install loses its update path in channel stable, since no update leads on: kiln.v1.0.0
	//   channel stable: 1 entry removed (still in the catalog: kiln.v1.0.0)
	//   channel stable: kiln.v1.1.0: replaces kiln.v1.0.0 -> none
	// fail: 1 stranded
}
