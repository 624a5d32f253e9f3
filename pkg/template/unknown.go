package template

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An unknownKey is a key that the format does not define.
type unknownKey struct {
	ptr   jsontext.Pointer // pointer to its value in the object
	known []string         // keys that the format defines for its object
}

// dropUnknown removes the keys that the format does not define from a decoded object or a part of it, and appends them
// to dropped. The zero Value has no keys.
func dropUnknown(v reflect.Value, at jsontext.Pointer, dropped *[]unknownKey) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			dropUnknown(v.Elem(), at, dropped)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if elem := v.Index(i); elem.Kind() == reflect.Struct {
				dropUnknown(elem, index(at, i), dropped)
			}
		}
	case reflect.Struct:
		dropMembers(v, at, dropped)
	}
}

// dropMembers drops the unknown keys of a struct and of its fields. The field Unknown has the keys without a field.
func dropMembers(v reflect.Value, at jsontext.Pointer, dropped *[]unknownKey) {
	var known []string
	var unknown *jsontext.Value
	for field, value := range v.Fields() {
		if field.Name == "Unknown" {
			unknown, _ = reflect.TypeAssert[*jsontext.Value](value.Addr())
			continue
		}
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "-" {
			known = append(known, key)
			dropUnknown(value, at.AppendToken(key), dropped)
		}
	}
	if unknown == nil || *unknown == nil {
		return
	}
	var members map[string]jsontext.Value
	_ = json.Unmarshal(*unknown, &members) // already decoded once
	for _, key := range slices.Sorted(maps.Keys(members)) {
		*dropped = append(*dropped, unknownKey{at.AppendToken(key), known})
	}
	*unknown = nil
}
