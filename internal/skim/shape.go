package skim

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
)

// A Shape describes JSON that encoding/json can certainly decode into a Go type. Nil describes any JSON.
type Shape struct {
	Kind   byte    // the first byte of a value, t for a boolean, '0' for a number; 0 means that only decoding can tell
	Elem   *Shape  // of the elements of a list, and of the values of an object that is a map
	Fields []Field // of an object that is a struct; nil for others

	digits int      // the maximum length of a whole number; 0 for any number that is short enough to be exact
	null   bool     // null is of the shape, too
	either []*Shape // of values of several kinds

	index map[string]int // of Fields, by name
}

// number is the Kind of a number.
const number = '0'

// A Field is a field of a struct.
type Field struct {
	*Shape
	Name     string
	Optional bool // it has the option omitempty or omitzero
}

// The results of ShapeOf and KeyShape by type, because building a shape takes longer than comparing a value with it.
var shapes, keyShapes sync.Map

// ShapeOf returns the shape of a type, which must not contain itself; nil for nil. Only fields with a name in their tag
// json count.
func ShapeOf(t reflect.Type) *Shape {
	if t == nil {
		return nil
	}
	if s, ok := shapes.Load(t); ok {
		return s.(*Shape)
	}
	s, _ := shapes.LoadOrStore(t, new(builder).shape(t))
	return s.(*Shape)
}

// Fits reports whether valid JSON can certainly be decoded into a type. If it returns false, decoding may still
// succeed.
func Fits(value []byte, t reflect.Type) bool {
	c := New(value)
	return c.SkipAs(ShapeOf(t))
}

// Forms are the shapes of types that decode themselves, made with the shapes of other types. Types that are not among
// them take only null for certain.
type Forms map[reflect.Type]func(of func(reflect.Type) *Shape) *Shape

// ObjectShape returns the shape of an object of Kubernetes, whose type may contain itself and decode itself. As in
// Kubernetes, null has every shape, and means the zero value.
func ObjectShape(t reflect.Type, forms Forms) *Shape {
	return (&builder{object: true, forms: forms, shapes: map[reflect.Type]*Shape{}}).shape(t)
}

// KeyShape returns the shape of an object of Kubernetes for [Shape.UnknownKeys] only: it has the keys of types that
// decode themselves, too.
func KeyShape(t reflect.Type) *Shape {
	if s, ok := keyShapes.Load(t); ok {
		return s.(*Shape)
	}
	b := &builder{object: true, keys: true, shapes: map[reflect.Type]*Shape{}}
	s, _ := keyShapes.LoadOrStore(t, b.shape(t))
	return s.(*Shape)
}

// Either returns the shape of values that are null or of one of several shapes, which differ in their kinds.
func Either(shapes ...*Shape) *Shape { return &Shape{null: true, either: shapes} }

// A builder makes shapes. The zero value is for [ShapeOf].
type builder struct {
	object bool // of ObjectShape or KeyShape
	keys   bool // of KeyShape
	forms  Forms
	shapes map[reflect.Type]*Shape // of structs of objects, which may contain themselves
}

func (b *builder) shape(t reflect.Type) *Shape {
	if s, ok := b.shapes[t]; ok {
		return s
	}
	s := &Shape{null: b.object}
	form, formed := b.forms[t]
	switch {
	case formed:
		return form(b.shape)
	case b.object && !b.keys && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.Kind = '"'
	case reflect.Bool:
		s.Kind = 't'
	case reflect.Map:
		s.Kind, s.Elem = '{', b.shape(t.Elem())
	case reflect.Struct:
		b.addStruct(s, t)
	case reflect.Slice:
		if t == reflect.TypeFor[jsontext.Value]() {
			return nil
		}
		if t.Elem().Kind() != reflect.Uint8 {
			s.Kind, s.Elem = '[', b.shape(t.Elem())
		}
	case reflect.Pointer:
		return b.shape(t.Elem())
	default:
		if b.object {
			setDigits(s, t)
		}
	}
	return s
}

func (b *builder) addStruct(s *Shape, t reflect.Type) {
	s.Kind, s.index = '{', make(map[string]int, t.NumField())
	if b.object {
		b.shapes[t] = s
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || strings.Contains(options, "embed") { // no key, or all other keys
			continue
		}
		switch {
		case name != "":
			s.add(Field{b.shape(f.Type), name, strings.Contains(options, "omit")})
		case f.Anonymous:
			for _, inlined := range b.shape(f.Type).Fields {
				s.add(inlined)
			}
		}
	}
}

func (s *Shape) add(f Field) {
	s.index[f.Name] = len(s.Fields)
	s.Fields = append(s.Fields, f)
}

// setDigits makes s the shape of a number if t is a number type. The shape has fewer digits than t can represent;
// longer numbers must be decoded.
func setDigits(s *Shape, t reflect.Type) {
	switch t.Kind() {
	case reflect.Int32:
		s.Kind, s.digits = number, 9
	case reflect.Int, reflect.Int64:
		s.Kind, s.digits = number, 18
	case reflect.Float64:
		s.Kind = number
	}
}

// Allows reports whether a value that begins with this byte may have the shape. A null may not, except for the shape of
// an object, because its meaning depends on the surrounding value.
func (s *Shape) Allows(kind byte) bool {
	return s == nil || kind == s.Kind || kind == 'f' && s.Kind == 't' || kind == 'n' && s.null ||
		s.Kind == number && isNumber(kind)
}

func isNumber(kind byte) bool { return kind == '-' || '0' <= kind && kind <= '9' }

// allowsNumber reports whether the text of a number is of the shape.
func (s *Shape) allowsNumber(text []byte) bool {
	if s.digits == 0 {
		const exact = 15 // digits of a float64
		return len(text) <= exact && !bytes.ContainsAny(text, "eE")
	}
	return len(text) <= s.digits && !bytes.ContainsAny(text, ".eE")
}

// Find returns the index of the field of that name, or -1. It is not ok if the name matches a field only in another
// case: then another member may be decoded into the field.
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

// Member returns the shape of a member of an object of the shape, by its quoted name. The name is not known if the
// object is a struct without such a field. It is not ok if only decoding can show which member counts.
func (s *Shape) Member(name []byte) (_ *Shape, known, ok bool) {
	if s == nil || s.Fields == nil {
		return s.Element(), true, true
	}
	text := Unquote(name)
	field, ok := s.Find(text)
	if field < 0 {
		return nil, false, ok
	}
	return s.Fields[field].Shape, true, len(text)+2 == len(name)
}

// Names returns the names of the fields, in the order of the struct.
func (s *Shape) Names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// UnknownKeys calls visit for each key that a struct of the shape does not have in that spelling, with a pointer to its
// value, which is in a valid JSON value, and the shape of the struct. Visit returns the field that the key stands for:
// the pointers below have its name. If it returns nil, there are none. A struct without fields may have any keys.
func (s *Shape) UnknownKeys(value []byte, visit func(jsontext.Pointer, *Shape) *Field) {
	c := New(value)
	c.unknownKeys(s, "", visit)
}

func (c *Cursor) unknownKeys(s *Shape, at jsontext.Pointer, visit func(jsontext.Pointer, *Shape) *Field) {
	kind := c.Kind()
	if s == nil || kind != s.Kind || kind != '{' && kind != '[' {
		c.Skip()
		return
	}
	i := 0
	for c.Enter(); c.More(); i++ {
		if kind == '[' {
			c.unknownKeys(s.Elem, place.Item(at, i), visit)
			continue
		}
		name := c.Value()
		member, known, _ := s.Member(name)
		ptr := at.AppendToken(string(Unquote(name)))
		if !known {
			if f := visit(ptr, s); f != nil {
				member, ptr = f.Shape, at.AppendToken(f.Name)
			}
		}
		c.unknownKeys(member, ptr, visit)
	}
}

// Element returns the shape of an element of a list, or a map, of the shape.
func (s *Shape) Element() *Shape {
	if s == nil {
		return nil
	}
	return s.Elem
}

// of returns the shape for a value of a kind.
func (s *Shape) of(kind byte) *Shape {
	if s == nil {
		return nil
	}
	for _, form := range s.either {
		if form.Allows(kind) {
			return form
		}
	}
	return s
}

// SkipAs moves past the next value and reports whether it is of a shape.
func (c *Cursor) SkipAs(s *Shape) bool {
	kind := c.Kind()
	s = s.of(kind)
	if s == nil || kind != s.Kind || kind != '{' && kind != '[' {
		start := c.at
		c.Skip()
		return s.Allows(kind) && (s == nil || !isNumber(kind) || s.allowsNumber(c.Since(start)))
	}
	ok := true
	for c.Enter(); c.More(); {
		value, sure := s.Elem, true
		if kind == '{' {
			value, _, sure = s.Member(c.Value())
		}
		ok = c.SkipAs(value) && ok && sure
	}
	return ok
}
