package compose_test

import (
	"reflect"
	"testing"

	"github.com/opm-toolchain/opm/internal/schematest"
	"github.com/opm-toolchain/opm/pkg/compose"
	"github.com/opm-toolchain/opm/schemas"
)

// The JSON Schema for editors has the keys that are read.
func TestJSONSchema(t *testing.T) {
	text, err := schemas.JSONSchema("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schematest.SameKeys(t, schematest.Compile(t, text, ""), reflect.TypeFor[compose.Config]())
}
