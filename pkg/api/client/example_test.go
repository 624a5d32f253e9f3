package client_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/api/client"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/serve"
)

const exampleCatalog = `
{schema: olm.package, name: kiln, defaultChannel: stable}
---
{schema: olm.channel, package: kiln, name: stable, entries: [{name: kiln.v1.1.0, replaces: kiln.v1.0.0}, {name: kiln.v1.0.0}]}
---
schema: olm.bundle
package: kiln
name: kiln.v1.0.0
image: registry.example/kiln:v1.0.0
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
---
schema: olm.bundle
package: kiln
name: kiln.v1.1.0
image: registry.example/kiln:v1.1.0
properties: [{type: olm.package, value: {packageName: kiln, version: 1.1.0}}]
`

// Ask a registry for the update of an installed bundle.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		source := declcfg.Source{Name: "catalog", FS: fstest.MapFS{"kiln.yaml": {Data: []byte(exampleCatalog)}}}
		open := func(context.Context) (*serve.Input, error) {
			return &serve.Input{Catalogs: []serve.Catalog{{Name: "crafts", Source: source}}, Close: func() {}}, nil
		}
		registry := serve.Registry{Listener: l, Load: serve.LoadOptions{Open: open}}
		ended <- serve.Run(ctx, serve.Options{Registries: []serve.Registry{registry}})
	}()

	c, err := client.New(l.Addr().String(), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.WaitReady(ctx); err != nil {
		log.Fatal(err)
	}
	b, err := c.Replacement(ctx, "kiln", "stable", "kiln.v1.0.0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.GetCsvName(), b.GetBundlePath())
	c.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// kiln.v1.1.0 registry.example/kiln:v1.1.0
	// <nil>
}
