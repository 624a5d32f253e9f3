package place

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TypeError returns what is wrong with a value that package json cannot read, in words of people who write YAML, and
// its place in the object.
func TypeError(err error) (jsontext.Pointer, error) {
	s, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return "", err
	}
	return s.JSONPointer, mismatch(s)
}

// mismatch words an error about types for someone who writes catalogs, not Go.
func mismatch(e *json.SemanticError) error {
	if _, ok := errors.AsType[base64.CorruptInputError](e.Err); ok {
		return fmt.Errorf("not base64: %w", e.Err)
	}
	if e.GoType == nil {
		return e
	}
	if len(e.JSONValue) > 0 { // the number, where it was read
		return fmt.Errorf("want %s, have %s", wanted(e.GoType), e.JSONValue)
	}
	if e.Err != nil && e.GoType.Kind() == reflect.Struct { // which decodes itself, perhaps not from an object
		return e.Err
	}
	return fmt.Errorf("want %s, have %s", wanted(e.GoType), kindNames[e.JSONKind])
}

var kindNames = map[jsontext.Kind]string{
	jsontext.KindTrue:        "true",
	jsontext.KindFalse:       "false",
	jsontext.KindString:      "a string",
	jsontext.KindNumber:      "a number",
	jsontext.KindBeginObject: "an object",
	jsontext.KindBeginArray:  "a list",
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64 in a string"
		}
		return "a list"
	default:
		return "a whole number of type " + t.String()
	}
}
