package compose_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/testing/schematest"
	"github.com/opm-toolchain/opm/schemas"
)

// TestJSONSchema checks that the JSON Schema for editors has exactly the keys that this package reads.
func TestJSONSchema(t *testing.T) {
	text, err := schemas.JSONSchema("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schema := schematest.Compile(t, text, "")
	schematest.SameKeys(t, schema, reflect.TypeFor[compose.Config]())
	for _, policy := range compose.Policies() {
		config := fmt.Sprintf(`{"name": "n", "references": [{"name": "n", "image": "i"}], "conflicts": %q}`, policy)
		if err := schematest.Validate(schema, []byte(config)); err != nil {
			t.Error(err)
		}
	}
}
