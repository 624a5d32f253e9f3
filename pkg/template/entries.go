package template

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
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
		e := entry{ptr: index("/entries", i), raw: raw}
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
				t.warnf(e.ptr+u.ptr.Parent(), "key %q is not part of the format and is dropped%s",
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
