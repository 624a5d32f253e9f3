package template_test

import (
	"context"
	"fmt"
	"log"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
)

const exampleTemplate = `
schema: olm.template.basic
entries:
- {schema: olm.package, name: kiln, defaultChannel: stable}
- {schema: olm.channel, package: kiln, name: stable, entries: [{name: kiln.v1.0.0}]}
`

// Render a template to a catalog. Pull would pull the bundles that it names.
func Example() {
	ctx := context.Background()
	t, err := template.Parse("kiln.yaml", []byte(exampleTemplate), template.Detect, func(e *declcfg.Error) { log.Print(e) })
	if err != nil {
		log.Fatal(err)
	}
	bundles, err := t.Pull(ctx, render.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer bundles.Close()
	catalog, err := t.Render(ctx, bundles, template.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range catalog.Metas {
		fmt.Println(m.Schema, m.Name)
	}
	// Output:
	// olm.package kiln
	// olm.channel stable
}
