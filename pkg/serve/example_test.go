package serve_test

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
schema: olm.package
name: kiln
defaultChannel: stable
---
schema: olm.channel
package: kiln
name: stable
entries:
- name: kiln.v1.1.0
  replaces: kiln.v1.0.0
- name: kiln.v1.0.0
---
schema: olm.bundle
package: kiln
name: kiln.v1.0.0
image: registry.example.com/kiln@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
properties:
- type: olm.package
  value: {packageName: kiln, version: 1.0.0}
---
schema: olm.bundle
package: kiln
name: kiln.v1.1.0
image: registry.example.com/kiln@sha256:01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b
properties:
- type: olm.package
  value: {packageName: kiln, version: 1.1.0}
`

// openExample opens a catalog in memory.
func openExample(context.Context) (*serve.Input, error) {
	source := declcfg.Source{Name: "catalog", FS: fstest.MapFS{"kiln.yaml": {Data: []byte(exampleCatalog)}}}
	return &serve.Input{Catalogs: []serve.Catalog{{Name: "crafts", Source: source}}, Close: func() {}}, nil
}

// Serve a catalog in memory and ask for its packages.
func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	registry := serve.Registry{Listener: l, Load: serve.LoadOptions{Open: openExample}}
	go func() { ended <- serve.Run(ctx, serve.Options{Registries: []serve.Registry{registry}}) }()

	c, err := client.New(l.Addr().String(), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.WaitReady(ctx); err != nil {
		log.Fatal(err)
	}
	for name, err := range c.Packages(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		p, err := c.Package(ctx, name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, p.DefaultChannelName, p.Channels[0].CsvName)
	}
	c.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// kiln stable kiln.v1.1.0
	// <nil>
}
