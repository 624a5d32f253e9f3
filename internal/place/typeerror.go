package place

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TypeError returns the pointer to the value that package json cannot decode, and the reason in terms of YAML, not of
// Go. err is the error of package json.
func TypeError(err error) (jsontext.Pointer, error) {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return "", err
	}
	_, isCorrupt := errors.AsType[base64.CorruptInputError](e.Err)
	switch {
	case isCorrupt:
		err = fmt.Errorf("not base64: %w", e.Err)
	case e.GoType == nil:
		err = e
	case len(e.JSONValue) > 0: // a number
		err = fmt.Errorf("want %s, found %s", describeType(e.GoType), e.JSONValue)
	case e.Err != nil && e.GoType.Kind() == reflect.Struct: // has its own decoder, which may not want an object
		err = e.Err
	default:
		err = fmt.Errorf("want %s, found %s", describeType(e.GoType), kindNames[e.JSONKind])
	}
	return e.JSONPointer, err
}

var kindNames = map[jsontext.Kind]string{
	jsontext.KindTrue:        "true",
	jsontext.KindFalse:       "false",
	jsontext.KindString:      "a string",
	jsontext.KindNumber:      "a number",
	jsontext.KindBeginObject: "an object",
	jsontext.KindBeginArray:  "a list",
}

func describeType(t reflect.Type) string {
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
