package strictyaml

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A checker compares a document with a Go type, since package json stops at the first value that does not match.
type checker struct {
	file   *File
	wrong  []mismatch
	finder nearest.Finder
}

// A mismatch is a value that does not match its type, or a key that does not exist.
type mismatch struct {
	ptr   jsontext.Pointer
	isKey bool
	err   error
}

func (c *checker) fail(ptr jsontext.Pointer, err error) {
	c.wrong = append(c.wrong, mismatch{ptr: ptr, err: err})
}

func (c *checker) failKey(ptr jsontext.Pointer, format string, args ...any) {
	c.wrong = append(c.wrong, mismatch{ptr, true, fmt.Errorf(format, args...)})
}

// errors returns the mismatches as errors with places, which are found in one pass.
func (c *checker) errors() (errs []error) {
	ptrs := make([]jsontext.Pointer, len(c.wrong))
	for i, w := range c.wrong {
		ptrs[i] = w.ptr
	}
	for i, v := range c.file.doc.Find(ptrs...) {
		w, place := c.wrong[i], v.Place
		if w.isKey {
			place, w.ptr = v.Key, w.ptr.Parent() // the message has the key
		}
		errs = append(errs, &declcfg.Error{Pos: posOf(c.file.name, place), Pointer: w.ptr, Err: w.err})
	}
	return errs
}

// value checks the value at ptr, which is to become a t.
func (c *checker) value(raw jsontext.Value, t reflect.Type, ptr jsontext.Pointer) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := raw.Kind(); {
	case kind == jsontext.KindNull || readsItself(t):
	case kind == jsontext.KindBeginObject && t.Kind() == reflect.Struct:
		c.object(raw, t, ptr)
	case kind == jsontext.KindBeginObject && t.Kind() == reflect.Map:
		for key, value := range values(raw) {
			c.value(value, t.Elem(), ptr.AppendToken(key))
		}
	case kind == jsontext.KindBeginArray && t.Kind() == reflect.Slice:
		for i, element := range values(raw) {
			c.value(element, t.Elem(), ptr.AppendToken(i))
		}
	default:
		c.scalar(raw, t, ptr)
	}
}

// readsItself reports whether a type has its own way to read JSON. What is wrong with it is said when it is read.
func readsItself(t reflect.Type) bool {
	t = reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || t.Implements(reflect.TypeFor[json.Unmarshaler]())
}

// scalar checks a value by reading it. Anything may become a string in YAML, if it is quoted.
func (c *checker) scalar(raw jsontext.Value, t reflect.Type, ptr jsontext.Pointer) {
	err := json.Unmarshal(raw, reflect.New(t).Interface(), options)
	if err == nil {
		return
	}
	_, err = declcfg.TypeError(err)
	switch kind := raw.Kind(); kind {
	case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
		if t.Kind() == reflect.String {
			err = fmt.Errorf("%w; put it in quotes", err)
		}
	}
	c.fail(ptr, err)
}

// object checks an object, which is to become a struct.
func (c *checker) object(raw jsontext.Value, t reflect.Type, ptr jsontext.Pointer) {
	fields, given := fieldsOf(t), map[string]string{}
	for key, value := range values(raw) {
		at := ptr.AppendToken(key)
		name, ok := match(fields, key)
		if !ok {
			names := slices.Sorted(maps.Keys(fields))
			c.failKey(at, "unknown key %q%s", key, c.hint(key, names))
			continue
		}
		if first, ok := given[name]; ok && first != key { // equal ones are found by their places
			c.failKey(at, "key %q is already defined as %q", key, first)
		}
		given[name] = key
		c.value(value, fields[name], at)
	}
}

// hint returns the nearest of the names or, for a few, all of them.
func (c *checker) hint(key string, names []string) string {
	if hint := c.finder.Hint(key, names); hint != "" {
		return hint
	}
	return ", want " + strings.Join(names, ", ")
}

// fieldsOf returns the types of a struct's fields by their keys.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "-" && name != "" {
			fields[name] = f.Type
		}
	}
	return fields
}

// match returns the name of the field that a key is read into: the equal one, or else one that differs in case.
func match(fields map[string]reflect.Type, key string) (string, bool) {
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

// values yields the members of an object by key, or the elements of a list by index.
func values(raw jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(raw), document.Lenient)
		begin, err := d.ReadToken()
		for i := 0; err == nil && d.PeekKind() != jsontext.KindEndObject && d.PeekKind() != jsontext.KindEndArray; i++ {
			key := strconv.Itoa(i)
			if begin.Kind() == jsontext.KindBeginObject {
				name, _ := d.ReadToken()
				key = name.String()
			}
			var value jsontext.Value
			if value, err = d.ReadValue(); err != nil || !yield(key, value) {
				return
			}
		}
	}
}
