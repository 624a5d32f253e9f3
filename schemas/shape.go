package schemas

import (
	"bytes"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A shape is JSON that surely can be decoded into a Go type. Nil is that of any JSON.
type shape struct {
	kind   byte              // as a value of it begins, t for a boolean; 0 means that only decoding can tell
	elem   *shape            // of the elements of a list, and of the values of an object that is a map
	fields map[string]*shape // of the values of an object that is a struct, by key
}

// valueShapes returns the shapes of the values of properties, by type.
var valueShapes = sync.OnceValue(func() map[string]*shape {
	shapes := map[string]*shape{}
	for typ, t := range declcfg.ValueTypes() {
		shapes[typ] = shapeOf(t)
	}
	return shapes
})

// propertyShape is the shape of a property whose type is not known.
var propertyShape = &shape{kind: '{', fields: map[string]*shape{"type": {kind: '"'}, "value": nil}}

// shapeOf covers the types that values of properties are made of, none of which contains itself.
func shapeOf(t reflect.Type) *shape {
	switch t.Kind() {
	case reflect.String:
		return &shape{kind: '"'}
	case reflect.Bool:
		return &shape{kind: 't'}
	case reflect.Map:
		return &shape{kind: '{', elem: shapeOf(t.Elem())}
	case reflect.Struct:
		s := &shape{kind: '{', fields: make(map[string]*shape, t.NumField())}
		for f := range t.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			s.fields[key] = shapeOf(f.Type)
		}
		return s
	case reflect.Slice:
		if t == reflect.TypeFor[jsontext.Value]() {
			return nil
		}
		if t.Elem().Kind() != reflect.Uint8 {
			return &shape{kind: '[', elem: shapeOf(t.Elem())}
		}
	}
	return &shape{}
}

// allows reports whether a value that begins with a byte may be of the shape.
func (s *shape) allows(kind byte) bool {
	return s == nil || kind == s.kind || kind == 'f' && s.kind == 't' || kind == 'n' && s.kind != 0
}

// member returns the shape of the member of that name, which is in quotes, of an object of the shape. It is not ok if
// the name is that of a field in another case: then another member may be the one that counts.
func (s *shape) member(name []byte) (_ *shape, ok bool) {
	if s == nil || s.fields == nil {
		return s.element(), true
	}
	if field, known := s.fields[string(name[1:len(name)-1])]; known {
		return field, true
	}
	text := unquoted(name)
	for field := range s.fields {
		if bytes.EqualFold([]byte(field), text) {
			return nil, false
		}
	}
	return nil, true
}

// element returns the shape of an element of a list, or a map, of the shape.
func (s *shape) element() *shape {
	if s == nil {
		return nil
	}
	return s.elem
}

// skipAs goes behind the next value and reports whether it is of a shape.
func (c *cursor) skipAs(s *shape) bool {
	kind := c.kind()
	if s == nil || kind != s.kind || kind != '{' && kind != '[' {
		c.skip()
		return s.allows(kind)
	}
	ok := true
	for c.enter(); c.more(); {
		value, known := s.elem, true
		if kind == '{' {
			value, known = s.member(c.value())
		}
		ok = c.skipAs(value) && ok && known
	}
	return ok
}
