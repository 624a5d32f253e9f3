package template

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An entry is a catalog object in a template.
type entry struct {
	*declcfg.Meta
	ptr   jsontext.Pointer
	value any            // decoded by declcfg; nil for a custom schema
	raw   jsontext.Value // as in the template
}

// readEntries reads the list at /entries. It drops keys that the format does not define, as upstream does, with a
// warning. With byImage, bundles have only an image and need no package.
func (t *Template) readEntries(list []jsontext.Value, byImage bool) (entries []entry) {
	for i, raw := range list {
		e := entry{ptr: place.Item("/entries", i), raw: raw}
		object, err := declcfg.NewObject(declcfg.Pos{}, raw)
		if err == nil {
			e.Meta = object.Meta
			if !byImage || e.Schema != declcfg.SchemaBundle {
				err = declcfg.CheckOwner(e.Meta)
			}
		}
		if err == nil {
			e.value, err = object.Decode()
		}
		if err != nil {
			ptr := e.ptr
			if at, ok := errors.AsType[*declcfg.Error](err); ok {
				ptr, err = ptr+at.Pointer, at.Err
			}
			t.fail(ptr, "%w", err)
			continue
		}
		var dropped []unknownKey
		dropUnknown(reflect.ValueOf(e.value), "", &dropped)
		for _, u := range dropped {
			name := u.ptr.LastToken()
			inAnotherCase := func(key string) bool { return strings.EqualFold(key, name) }
			if !slices.ContainsFunc(u.known, inAnotherCase) {
				t.flaws.Addf(t.file, e.ptr+u.ptr.Parent(), "key %q is not part of the format and is dropped%s",
					name, nearest.Hint(name, u.known))
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// object returns the value to write for the entry.
func (e *entry) object() any {
	if e.value == nil {
		return e.raw
	}
	return e.value
}

// onlyPackage returns the name of the only package that entries define, or "".
func onlyPackage(entries []entry) (name string) {
	for _, e := range entries {
		if e.Schema == declcfg.SchemaPackage {
			if name != "" {
				return ""
			}
			name = e.Name
		}
	}
	return name
}

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
				dropUnknown(elem, place.Item(at, i), dropped)
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
