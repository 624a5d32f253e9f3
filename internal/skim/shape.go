package skim

import (
	"bytes"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A Shape describes JSON that can certainly be decoded into a Go type, as encoding/json decodes it. Nil describes any
// JSON.
type Shape struct {
	kind   byte              // the first byte of a value, t for a boolean; 0 means that only decoding can tell
	elem   *Shape            // of the elements of a list, and of the values of an object that is a map
	fields map[string]*Shape // of the values of an object that is a struct, by key
}

var shapes sync.Map // by type, because building one takes longer than comparing a value with it

// ShapeOf returns the shape of a type, which must not contain itself or embed others; nil for nil.
func ShapeOf(t reflect.Type) *Shape {
	if t == nil {
		return nil
	}
	if s, ok := shapes.Load(t); ok {
		return s.(*Shape)
	}
	s, _ := shapes.LoadOrStore(t, newShape(t))
	return s.(*Shape)
}

// Fits reports whether valid JSON can certainly be decoded into a type. If it returns false, only decoding can tell.
func Fits(value []byte, t reflect.Type) bool {
	c := New(value)
	return c.SkipAs(ShapeOf(t))
}

func newShape(t reflect.Type) *Shape {
	switch t.Kind() {
	case reflect.String:
		return &Shape{kind: '"'}
	case reflect.Bool:
		return &Shape{kind: 't'}
	case reflect.Map:
		return &Shape{kind: '{', elem: newShape(t.Elem())}
	case reflect.Struct:
		s := &Shape{kind: '{', fields: make(map[string]*Shape, t.NumField())}
		for f := range t.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			s.fields[key] = newShape(f.Type)
		}
		return s
	case reflect.Slice:
		if t == reflect.TypeFor[jsontext.Value]() {
			return nil
		}
		if t.Elem().Kind() != reflect.Uint8 {
			return &Shape{kind: '[', elem: newShape(t.Elem())}
		}
	}
	return &Shape{}
}

// Allows reports whether a value that begins with a byte may be of the shape.
func (s *Shape) Allows(kind byte) bool {
	return s == nil || kind == s.kind || kind == 'f' && s.kind == 't' || kind == 'n' && s.kind != 0
}

// Member returns the shape of the member of that name, which is in quotes, of an object of the shape. It is not ok if
// the name is that of a field in another case: then another member may be the one that counts.
func (s *Shape) Member(name []byte) (_ *Shape, ok bool) {
	if s == nil || s.fields == nil {
		return s.Element(), true
	}
	if field, known := s.fields[string(name[1:len(name)-1])]; known {
		return field, true
	}
	text := Unquote(name)
	for field := range s.fields {
		if bytes.EqualFold([]byte(field), text) {
			return nil, false
		}
	}
	return nil, true
}

// Element returns the shape of an element of a list, or a map, of the shape.
func (s *Shape) Element() *Shape {
	if s == nil {
		return nil
	}
	return s.elem
}

// SkipAs moves past the next value and reports whether it is of a shape.
func (c *Cursor) SkipAs(s *Shape) bool {
	kind := c.Kind()
	if s == nil || kind != s.kind || kind != '{' && kind != '[' {
		c.Skip()
		return s.Allows(kind)
	}
	ok := true
	for c.Enter(); c.More(); {
		value, known := s.elem, true
		if kind == '{' {
			value, known = s.Member(c.Value())
		}
		ok = c.SkipAs(value) && ok && known
	}
	return ok
}
