package template

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/schematest"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/schemas"
)

// TestJSONSchemas checks that the JSON Schemas for editors have exactly the keys that this package reads.
func TestJSONSchemas(t *testing.T) {
	for _, test := range []struct {
		file, definition string
		typ              reflect.Type
	}{
		{"template", "#/$defs/BasicTemplate", reflect.TypeFor[basic]()},
		{"template", "#/$defs/SemverTemplate", reflect.TypeFor[semverSpec]()},
		{"template", "#/$defs/SubstitutesTemplate", reflect.TypeFor[substitutes]()},
		{"template", "#/$defs/Component", reflect.TypeFor[component]()},
		{"template", "#/$defs/CompositeCatalog", reflect.TypeFor[compositeCatalog]()},
		{"targets.yaml", "#/$defs/Target", reflect.TypeFor[target]()},
	} {
		text, err := schemas.JSONSchema(test.file)
		if err != nil {
			t.Fatal(err)
		}
		schematest.SameKeys(t, schematest.Compile(t, text, test.definition), test.typ)
	}
}

// TestJSONSchemaWords checks that the JSON Schemas for editors have the enum values that this package reads.
func TestJSONSchemaWords(t *testing.T) {
	check := func(file, format, word string) {
		t.Helper()
		text, err := schemas.JSONSchema(file)
		if err != nil {
			t.Fatal(err)
		}
		document := fmt.Sprintf(format, word)
		if err := schematest.Validate(schematest.Compile(t, text, ""), []byte(document)); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
	for _, k := range kinds {
		check("template", `{"schema": %q}`, k.schema)
	}
	for _, b := range builders {
		check("template", `{"schema": "olm.composite", "components": [
			{"name": "n", "strategy": {"template": {"schema": %q, "config": {"output": "o"}}}}]}`, b)
	}
	for _, form := range render.Forms() {
		check("targets.yaml", `{"targets": [{"name": "n", "bundleFormat": %q}]}`, string(form))
	}
}
