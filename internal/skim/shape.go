package skim

import (
	"bytes"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A Shape describes JSON that can certainly be decoded into a Go type, as encoding/json decodes it, and how that is
// written. Nil describes any JSON.
type Shape struct {
	Kind   byte    // the first byte of a value, t for a boolean; 0 means that only decoding can tell
	Elem   *Shape  // of the elements of a list, and of the values of an object that is a map
	Fields []Field // of an object that is a struct; nil for others

	index map[string]int // of Fields, by name
}

// A Field is a field of a struct.
type Field struct {
	*Shape
	Name     string
	Optional bool // it has the option omitempty or omitzero
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
		return &Shape{Kind: '"'}
	case reflect.Bool:
		return &Shape{Kind: 't'}
	case reflect.Map:
		return &Shape{Kind: '{', Elem: newShape(t.Elem())}
	case reflect.Struct:
		s := &Shape{Kind: '{', index: make(map[string]int, t.NumField())}
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			s.index[name] = len(s.Fields)
			s.Fields = append(s.Fields, Field{newShape(f.Type), name, strings.Contains(options, "omit")})
		}
		return s
	case reflect.Slice:
		if t == reflect.TypeFor[jsontext.Value]() {
			return nil
		}
		if t.Elem().Kind() != reflect.Uint8 {
			return &Shape{Kind: '[', Elem: newShape(t.Elem())}
		}
	}
	return &Shape{}
}

// Allows reports whether a value that begins with a byte may be of the shape. Null may not: what it means depends on
// what is around it.
func (s *Shape) Allows(kind byte) bool {
	return s == nil || kind == s.Kind || kind == 'f' && s.Kind == 't'
}

// Find returns the index of the field of that name, or -1. It is not ok if the name is that of a field in another case:
// then another member may be the one that counts.
func (s *Shape) Find(name []byte) (field int, ok bool) {
	if i, ok := s.index[string(name)]; ok {
		return i, true
	}
	for _, f := range s.Fields {
		if bytes.EqualFold([]byte(f.Name), name) {
			return -1, false
		}
	}
	return -1, true
}

// Member returns the shape of the member of that name, which is in quotes, of an object of the shape. It is not ok if
// only decoding can tell which member counts.
func (s *Shape) Member(name []byte) (_ *Shape, ok bool) {
	if s == nil || s.Fields == nil {
		return s.Element(), true
	}
	text := Unquote(name)
	field, ok := s.Find(text)
	if field < 0 {
		return nil, ok
	}
	return s.Fields[field].Shape, len(text)+2 == len(name)
}

// Element returns the shape of an element of a list, or a map, of the shape.
func (s *Shape) Element() *Shape {
	if s == nil {
		return nil
	}
	return s.Elem
}

// SkipAs moves past the next value and reports whether it is of a shape.
func (c *Cursor) SkipAs(s *Shape) bool {
	kind := c.Kind()
	if s == nil || kind != s.Kind || kind != '{' && kind != '[' {
		c.Skip()
		return s.Allows(kind)
	}
	ok := true
	for c.Enter(); c.More(); {
		value, known := s.Elem, true
		if kind == '{' {
			value, known = s.Member(c.Value())
		}
		ok = c.SkipAs(value) && ok && known
	}
	return ok
}
