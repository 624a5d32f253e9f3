package place

import (
	"encoding/base64"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

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
	ptr := e.JSONPointer
	_, isCorrupt := errors.AsType[base64.CorruptInputError](e.Err)
	within, isWithin := errors.AsType[*jsonv1.UnmarshalTypeError](e.Err)
	switch {
	case isCorrupt:
		err = fmt.Errorf("not base64: %w", e.Err)
	case isWithin: // from the own decoder of the type
		found, _, _ := strings.Cut(within.Value, " ") // such as "number 1.5"
		for field := range strings.SplitSeq(within.Field, ".") {
			if field != "" {
				ptr = ptr.AppendToken(field)
			}
		}
		err = fmt.Errorf("want %s, found %s%s", describeType(within.Type), kindsOfDecoders[found],
			quotes(within.Type, found == "bool" || found == "number"))
	case e.GoType == nil:
		err = e
	case len(e.JSONValue) > 0: // a number
		err = fmt.Errorf("want %s, found %s", describeNumber(e.GoType, e.JSONValue), e.JSONValue)
	case e.Err != nil && e.GoType.Kind() == reflect.Struct: // has its own decoder, which may not want an object
		err = e.Err
	default:
		isScalar := e.JSONKind == jsontext.KindNumber || e.JSONKind == jsontext.KindTrue || e.JSONKind == jsontext.KindFalse
		err = fmt.Errorf("want %s, found %s%s", describeType(e.GoType), kindNames[e.JSONKind], quotes(e.GoType, isScalar))
	}
	return ptr, err
}

var kindNames = map[jsontext.Kind]string{
	jsontext.KindTrue:        "true",
	jsontext.KindFalse:       "false",
	jsontext.KindString:      "a string",
	jsontext.KindNumber:      "a number",
	jsontext.KindBeginObject: "an object",
	jsontext.KindBeginArray:  "a list",
}

// kindsOfDecoders are the kinds of values by their names in [jsonv1.UnmarshalTypeError].
var kindsOfDecoders = map[string]string{
	"bool": "true or false", "string": "a string", "number": "a number", "object": "an object", "array": "a list",
}

// describeType returns the expected kind of value for a type.
func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return describeType(t.Elem())
	case reflect.Float32, reflect.Float64:
		return "a number"
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
		return "a whole number"
	}
}

// quotes returns what to do about a number or a boolean in place of a string, or "".
func quotes(want reflect.Type, isScalar bool) string {
	if isScalar && describeType(want) == "a string" {
		return "; put it in quotes"
	}
	return ""
}

// describeNumber returns the expected kind of value if a type does not have the number that was found.
func describeNumber(t reflect.Type, found jsontext.Value) string {
	if t.Kind() == reflect.Pointer {
		return describeNumber(t.Elem(), found)
	}
	isWhole := !strings.ContainsAny(string(found), ".eE")
	switch v := reflect.Zero(t); {
	case v.CanInt() && isWhole:
		return fmt.Sprintf("a whole number from %d to %d", int64(-1)<<(t.Bits()-1), uint64(1)<<(t.Bits()-1)-1)
	case v.CanUint() && isWhole:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	}
	return describeType(t)
}
