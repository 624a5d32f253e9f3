package strictyaml

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
)

// A KeyFinder finds the keys of JSON that a Go type does not have. The zero value is ready to use. It keeps the fields
// of types, and is not for concurrent use.
type KeyFinder struct {
	fields map[reflect.Type]map[string][]int // by key
	found  func(ptr jsontext.Pointer, key string, known iter.Seq[string])
}

// Unknown calls found for every key of an object in raw for which the struct, whose type is t or part of t, has no
// field, in the order of raw. It passes the place of the key and the sorted keys of the struct. Keys are compared with
// their case. Types without keys of their own, which decode themselves, such as a time, have no unknown keys.
func (f *KeyFinder) Unknown(
	raw jsontext.Value, t reflect.Type, found func(ptr jsontext.Pointer, key string, known iter.Seq[string]),
) {
	f.found = found
	f.value(raw, "", t)
}

func (f *KeyFinder) value(raw jsontext.Value, ptr jsontext.Pointer, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	isObject := raw.Kind() == jsontext.KindBeginObject
	switch kind := t.Kind(); {
	case kind == reflect.Struct && isObject:
		f.members(raw, ptr, t)
	case kind == reflect.Map && isObject, kind == reflect.Slice && raw.Kind() == jsontext.KindBeginArray:
		if hasKeys(t.Elem()) {
			for token, value := range document.Children(raw) {
				f.value(value, ptr.AppendToken(token), t.Elem())
			}
		}
	}
}

// members finds the unknown keys of an object whose type is the struct t.
func (f *KeyFinder) members(raw jsontext.Value, ptr jsontext.Pointer, t reflect.Type) {
	fields := f.fieldsOf(t)
	if len(fields) == 0 {
		return
	}
	for key, value := range document.Children(raw) {
		if index, ok := fields[key]; ok {
			f.value(value, ptr.AppendToken(key), t.FieldByIndex(index).Type)
		} else {
			f.found(ptr.AppendToken(key), key, slices.Values(slices.Sorted(maps.Keys(fields))))
		}
	}
}

func (f *KeyFinder) fieldsOf(t reflect.Type) map[string][]int {
	fields, ok := f.fields[t]
	if !ok {
		if f.fields == nil {
			f.fields = map[reflect.Type]map[string][]int{}
		}
		fields = Fields(t)
		f.fields[t] = fields
	}
	return fields
}

// hasKeys reports whether values of a type can have keys or elements.
func hasKeys(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Map, reflect.Slice:
		return true
	}
	return false
}
