package template

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/skim"
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
		t.dropUnknown(e)
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

// dropUnknown removes the keys that the format does not define from the value of an entry, and reports them. Keys match
// in any case.
func (t *Template) dropUnknown(e entry) {
	if e.value == nil {
		return
	}
	v := reflect.ValueOf(e.value)
	skim.ShapeOf(v.Type()).UnknownKeys(e.raw, func(ptr jsontext.Pointer, of *skim.Shape) *skim.Field {
		name := ptr.LastToken()
		isIt := func(f skim.Field) bool { return strings.EqualFold(f.Name, name) }
		if i := slices.IndexFunc(of.Fields, isIt); i >= 0 {
			return &of.Fields[i]
		}
		t.flaws.Addf(t.file, e.ptr+ptr.Parent(), "key %q is not part of the format and is dropped%s",
			name, nearest.Hint(name, of.Names()))
		return nil
	})
	clearUnknown(v)
}

// clearUnknown clears the fields Unknown, which have the keys without a field, of an object and its parts.
func clearUnknown(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			clearUnknown(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				clearUnknown(v.Index(i))
			}
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.Name == "Unknown" {
				value.SetZero()
			} else {
				clearUnknown(value)
			}
		}
	}
}
