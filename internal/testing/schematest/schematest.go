// Package schematest checks JSON and Go types against JSON Schemas, for tests.
package schematest

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile compiles a JSON Schema, or the schema at a fragment of it such as #/$defs/Bundle.
func Compile(t testing.TB, text []byte, fragment string) *jsonschema.Schema {
	t.Helper()
	const url = "test:schema"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(url + fragment)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Validate returns the errors of JSON according to a schema.
func Validate(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// SameKeys fails the test if a schema and a Go type do not have the same keys, ignoring case.
func SameKeys(t testing.TB, schema *jsonschema.Schema, typ reflect.Type) {
	t.Helper()
	sameKeys(t, "", parts(schema), typ)
}

func sameKeys(t testing.TB, path string, of []*jsonschema.Schema, typ reflect.Type) {
	t.Helper()
	var elements []*jsonschema.Schema
	for _, s := range of {
		if s.Items2020 != nil {
			elements = append(elements, parts(s.Items2020)...)
		}
		if other, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			elements = append(elements, parts(other)...)
		}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		sameKeys(t, path, of, typ.Elem())
	case reflect.Slice, reflect.Map:
		sameKeys(t, path+"[]", elements, typ.Elem())
	case reflect.Struct:
		fields, keys := fieldsOf(typ), propertiesOf(of)
		got, want := slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(fields))
		if len(fields) > 0 && !slices.Equal(got, want) {
			t.Errorf("%s: the schema has the keys %q, %s has %q", path, got, typ, want)
		}
		for name, field := range fields {
			sameKeys(t, path+"/"+name, keys[name], field)
		}
	}
}

// parts returns a schema, and the schemas that it refers to or combines.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s}
	for _, more := range slices.Concat([]*jsonschema.Schema{s.Ref}, s.AllOf, s.AnyOf) {
		if more != nil {
			all = append(all, parts(more)...)
		}
	}
	return all
}

// propertiesOf returns the schemas of all properties, by name in lower case.
func propertiesOf(of []*jsonschema.Schema) map[string][]*jsonschema.Schema {
	all := map[string][]*jsonschema.Schema{}
	for _, s := range of {
		for name, p := range s.Properties {
			name = strings.ToLower(name)
			all[name] = append(all[name], parts(p)...)
		}
	}
	return all
}

// fieldsOf returns the types of the fields that JSON is read into, by key in lower case.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[strings.ToLower(name)] = f.Type
		}
	}
	return fields
}
