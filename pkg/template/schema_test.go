package template

import (
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/internal/schematest"
	"github.com/opm-toolchain/opm/schemas"
)

// The JSON Schemas for editors have the keys that are read.
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
