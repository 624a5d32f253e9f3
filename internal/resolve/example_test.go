package resolve_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const crafts = `
{schema: olm.package, name: kiln, defaultChannel: stable}
---
{schema: olm.channel, package: kiln, name: stable,
  entries: [{name: kiln.v1.1.0, replaces: kiln.v1.0.0}, {name: kiln.v1.0.0}]}
---
{schema: olm.bundle, package: kiln, name: kiln.v1.1.0, image: "quay.io/kiln/kiln:v1.1.0", properties: [
  {type: olm.package, value: {packageName: kiln, version: 1.1.0}},
  {type: olm.package.required, value: {packageName: loom, versionRange: ">=2.0.0"}}]}
---
{schema: olm.bundle, package: kiln, name: kiln.v1.0.0, image: "quay.io/kiln/kiln:v1.0.0", properties: [
  {type: olm.package, value: {packageName: kiln, version: 1.0.0}}]}
`

// A new version requires a package that no catalog has. OLM Classic does not install it, and does not say why.
func Example() {
	ctx := context.Background()
	catalog, err := resolve.ReadCatalog(ctx, declcfg.Source{FS: fstest.MapFS{"kiln.yaml": {Data: []byte(crafts)}}})
	if err != nil {
		log.Fatal(err)
	}
	catalog.Name, catalog.Namespace = "crafts", "olm"
	request := &resolve.ClassicRequest{
		Name: "pottery", Global: "olm", Catalogs: []*resolve.Catalog{catalog},
		Subscriptions: []resolve.Subscription{
			{Name: "kiln", Package: "kiln", Channel: "stable", Catalog: "crafts", CatalogNamespace: "olm"},
		},
	}
	result, err := request.Resolve(ctx, resolve.Options{Explain: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Outcome, result.Install[0].Bundle)
	if err := result.Explanation.WriteText(os.Stdout, 0, ""); err != nil {
		log.Fatal(err)
	}
	// Output:
	// resolved kiln.v1.0.0
	// Subscription kiln gets kiln.v1.0.0 from channel stable
	//   not kiln.v1.1.0, which requires package loom ">=2.0.0"; no catalog has the package (/kiln.yaml:9:3)
	//   This would give kiln.v1.1.0:
	//     - add a version of package loom in the range ">=2.0.0"
}
