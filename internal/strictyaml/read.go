package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
)

// A reader reads a document into a Go value. Package json stops at the first value that does not match.
type reader struct {
	file   *File
	wrong  *Problems // values that do not match their type
	keys   *Problems // keys that do not exist
	finder nearest.Finder
}

// failKey records a problem with the key at ptr.
func (r *reader) failKey(ptr jsontext.Pointer, format string, args ...any) {
	r.keys.Add(func() *place.Error { return r.file.KeyErrorf(ptr, format, args...) })
}

func (r *reader) value(raw jsontext.Value, v reflect.Value, ptr jsontext.Pointer) {
	for v.Kind() == reflect.Pointer && raw.Kind() != jsontext.KindNull {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch kind := raw.Kind(); {
	case kind == jsontext.KindNull && v.Kind() != reflect.Slice: // which a jsontext.Value is
	case hasDecoder(v.Type()):
		r.scalar(raw, v, ptr)
	case kind == jsontext.KindBeginObject && v.Kind() == reflect.Struct:
		r.object(raw, v, ptr)
	case kind == jsontext.KindBeginObject && v.Kind() == reflect.Map:
		r.mapping(raw, v, ptr)
	case kind == jsontext.KindBeginArray && v.Kind() == reflect.Slice:
		for i, element := range document.Children(raw) {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			r.value(element, v.Index(v.Len()-1), ptr.AppendToken(i))
		}
	default:
		r.scalar(raw, v, ptr)
	}
}

// hasDecoder reports whether a type has its own JSON decoder.
func hasDecoder(t reflect.Type) bool {
	t = reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || t.Implements(reflect.TypeFor[json.Unmarshaler]())
}

// scalar reads a value as package json does. Quotes make anything a string in YAML.
func (r *reader) scalar(raw jsontext.Value, v reflect.Value, ptr jsontext.Pointer) {
	err := json.Unmarshal(raw, v.Addr().Interface(), options)
	if err == nil {
		return
	}
	refused, _ := errors.AsType[*json.SemanticError](err)
	within, err := place.TypeError(err)
	_, ofText := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
	_, ofJSON := reflect.TypeAssert[json.Unmarshaler](v.Addr())
	if (ofText || ofJSON) && raw.Kind() == jsontext.KindString && refused != nil {
		err = refused.Err
	}
	r.wrong.Addf(r.file, ptr+within, "%w", err)
}

func (r *reader) mapping(raw jsontext.Value, v reflect.Value, ptr jsontext.Pointer) {
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range document.Children(raw) {
		element := reflect.New(v.Type().Elem()).Elem()
		r.value(value, element, ptr.AppendToken(key))
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
	}
}

func (r *reader) object(raw jsontext.Value, v reflect.Value, ptr jsontext.Pointer) {
	fields, given := fieldsOf(v.Type()), map[string]string{}
	for key, value := range document.Children(raw) {
		at := ptr.AppendToken(key)
		name, ok := match(fields, key)
		if !ok {
			r.failKey(at, "unknown key%s%s", quoted(key), r.hint(key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		if first, ok := given[name]; ok && first != key { // equal ones are found by their places
			r.failKey(at, "key %q is already defined as %q", key, first)
		}
		given[name] = key
		r.value(value, v.FieldByIndex(fields[name]), at)
	}
}

// quoted returns a key in quotes, after a blank, or "" for a text that is no likely name: the file may be a link to a
// secret, whose lines can look like keys.
func quoted(key string) string {
	if len(key) > 64 || !likelyName.MatchString(key) {
		return ""
	}
	return fmt.Sprintf(" %q", key)
}

var likelyName = regexp.MustCompile(`^[\w./-]+$`)

// hint returns the nearest of the names or, for a few, all of them.
func (r *reader) hint(key string, names []string) string {
	if hint := r.finder.Hint(key, names); hint != "" {
		return hint
	}
	return ", want " + strings.Join(names, ", ")
}

// fieldsOf returns the indices of a struct's fields by their keys. An embedded struct with a key is a field; the fields
// of another one belong to the struct around it.
func fieldsOf(t reflect.Type) map[string][]int {
	fields := make(map[string][]int)
	var named [][]int // embedded structs with a key
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		within := func(outer []int) bool { return slices.Equal(outer, f.Index[:min(len(outer), len(f.Index))]) }
		if slices.ContainsFunc(named, within) || !f.IsExported() || name == "-" || name == "" {
			continue
		}
		if fields[name] = f.Index; f.Anonymous {
			named = append(named, f.Index)
		}
	}
	return fields
}

// match returns the name of the field for a key: an equal name, or else a name that differs only in case.
func match(fields map[string][]int, key string) (string, bool) {
	if _, ok := fields[key]; ok {
		return key, true
	}
	for name := range fields {
		if strings.EqualFold(name, key) {
			return name, true
		}
	}
	return "", false
}
