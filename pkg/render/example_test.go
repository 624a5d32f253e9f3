package render_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// Render a catalog from standard input as YAML, with images from another registry.
func Example() {
	const input = `{"schema": "olm.bundle", "package": "kiln", "name": "kiln.v1.0.0", "image": "quay.io/staging/kiln:v1"}
{"schema": "olm.package", "name": "kiln", "defaultChannel": "stable"}`
	rewrite, err := render.ParseRewrite("quay.io/staging=quay.io/prod")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	catalog, err := render.Open(ctx, []string{render.Stdin}, render.Options{
		Stdin:   strings.NewReader(input),
		Changes: render.Changes{Rewrites: []render.Rewrite{rewrite}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	metas, err := catalog.Metas(ctx)
	if err != nil {
		log.Print(err)
		return
	}
	opts := declcfg.WriteOptions{Format: declcfg.YAML, Edit: catalog.Edit}
	if err := declcfg.Write(ctx, os.Stdout, metas, opts); err != nil {
		log.Print(err)
	}
	// Output:
	// ---
	// defaultChannel: stable
	// name: kiln
	// schema: olm.package
	// ---
	// image: quay.io/prod/kiln:v1
	// name: kiln.v1.0.0
	// package: kiln
	// schema: olm.bundle
}

// Releases of OpenShift before 4.17 read manifests, later ones read metadata.
func ExampleTargetForm() {
	for _, target := range []string{"ocp=4.16", "ocp=4.17"} {
		form, err := render.TargetForm(target)
		fmt.Println(target, form, err)
	}
	// Output:
	// ocp=4.16 object <nil>
	// ocp=4.17 metadata <nil>
}
