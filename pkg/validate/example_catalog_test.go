package validate_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

// brokenCatalog has a missing default channel, an entry without a bundle, and an API without a kind.
var brokenCatalog = fstest.MapFS{"demo.yaml": {Data: []byte(`schema: olm.package
name: demo
defaultChannel: stabel
description: Shows what a catalog looks like.
---
schema: olm.channel
package: demo
name: stable
entries:
- name: demo.v1.0.0
- name: demo.v1.1.0
  replaces: demo.v1.0.0
---
schema: olm.bundle
package: demo
name: demo.v1.0.0
image: registry.example/demo@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.0}}
- {type: olm.gvk, value: {group: demo.example, version: v1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`)}}

func ExampleCatalog() {
	source := declcfg.Source{Name: "catalog", FS: brokenCatalog}
	report, err := validate.Catalog(context.Background(), validate.Options{}, source)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Problems {
		fmt.Printf("%s: %s [%s]\n%s:\n- %s\n", p.Pos, p.Severity, p.Rule, p.Path, p.Message)
	}
	// Output:
	// catalog/demo.yaml:3:17: error [default-channel]
	// package "demo": defaultChannel:
	// - default channel "stabel" not found in channels list (did you mean "stable"?)
	// catalog/demo.yaml:11:9: error [entry-bundle]
	// package "demo": channel "stable": entries[1].name:
	// - no olm.bundle blobs found in package "demo" for olm.channel entries [demo.v1.1.0] (did you mean "demo.v1.0.0"?)
	// catalog/demo.yaml:20:26: warning [schema]
	// package "demo": bundle "demo.v1.0.0": properties[1].value.kind:
	// - is required (#PropertyGVK)
}

// CUE definitions add custom rules.
func ExampleCatalog_schemas() {
	opts := validate.Options{
		ErrorsOnly: true,
		Schemas: []schemas.File{{
			Name: "ours.cue",
			Data: []byte(`#OurPackage: {schema: "olm.package", name!: string, icon!: #Icon, ...}`),
		}},
	}
	source := declcfg.Source{Name: "catalog", FS: brokenCatalog}
	report, err := validate.Catalog(context.Background(), opts, source)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Problems {
		if p.Rule == "user-schema" {
			fmt.Printf("%s: %s: %s\n", p.Pos, p.Path, p.Message)
		}
	}
	// Output:
	// catalog/demo.yaml:1:1: package "demo": icon: is required (#OurPackage)
}

func ExampleRules() {
	rule := validate.Rules().Of("channel-head")
	fmt.Printf("%s (%s): %s\n", rule.Name, rule.Severity, rule.Summary)
	fmt.Println("fix:", rule.Fix)
	// Output:
	// channel-head (error): a channel has exactly one head
	// fix: connect the entries by replaces or skips until only one is not replaced or skipped
}
