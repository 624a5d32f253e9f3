package schemas

import (
	"bytes"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A scanner reads an object once and makes skeletons of it. The skeleton of a value is simplified JSON on which a
// definition has the same verdict, and which many values share:
//
//   - strings that are not empty become "x", and numbers become 0
//   - equal neighbors in a list become one element
//   - all keys that no definition names become one key
//   - objects and lists below the depth of the definition become empty
//
// The scanner also compares the values of properties with their shapes.
type scanner struct {
	skim.Cursor

	head []byte // skeleton of the object, with empty lists in place of its elements
	elem []byte // skeleton of the element read last
	fits bool   // the element read last has had its shape so far

	unknown bool // the object or an element has a key that its shape does not have
}

// An element is an element of a list that is checked element by element.
type element struct {
	list     string
	index    int
	def      *definition
	typ      []byte         // type of a property; nil if it is not a string
	raw      jsontext.Value // the element, as a part of the object's text
	skeleton []byte         // followed by the name of the definition; valid until the next element

	decodable bool // a property with a value that can certainly be decoded as its type
}

// object reads one object. It yields its elements in order, and returns the skeleton of the rest, followed by the name
// of the definition. The skeleton is valid until the next object is read.
func (s *scanner) object(def *definition, raw jsontext.Value, yield func(element)) (skeleton []byte) {
	s.Cursor, s.unknown = skim.New(raw), false
	s.head = s.fields(s.head[:0], def.shape, func(out, name []byte, field *skim.Shape) []byte {
		list := def.lists[string(skim.Unquote(name))]
		if list == nil || s.Kind() != '[' {
			return s.value(out, def.depth-1, def.text || isDiscriminator(name), field)
		}
		key := string(skim.Unquote(name))
		s.Enter()
		for i := 0; s.More(); i++ {
			e := s.element(list, field.Element())
			e.list, e.index = key, i
			yield(e)
		}
		return append(out, "[]"...)
	})
	return append(s.head, def.name...)
}

// element reads the next element.
func (s *scanner) element(def *definition, shape *skim.Shape) element {
	e := element{def: def}
	kind, start := s.Kind(), s.Offset()
	if def == property && kind == '{' {
		s.property(&e)
	} else {
		s.elem = s.value(s.elem[:0], def.depth, def.text, shape)
	}
	e.raw = s.Since(start)
	s.elem = append(s.elem, e.def.name...)
	e.skeleton = s.elem
	return e
}

// propertyShape is the shape of a property without a type.
var propertyShape = skim.ShapeOf(reflect.TypeFor[declcfg.Property]())

// property reads a property. If the type comes first, as in the output of tools, one pass is enough. Otherwise it reads
// the property again once the type is known.
func (s *scanner) property(e *element) {
	start := s.Offset()
	var late, hasValue bool
	s.fits = true
	s.elem = s.fields(s.elem[:0], propertyShape, func(out, name []byte, want *skim.Shape) []byte {
		switch {
		case string(name) == `"type"` && s.Kind() == '"':
			raw := s.Value()
			e.typ = skim.Unquote(raw)
			if def, ok := propertyDefinitions[string(e.typ)]; ok {
				e.def = def
			}
			return append(out, raw...)
		case string(name) == `"value"` && e.typ != nil:
			want, hasValue = skim.ShapeOf(declcfg.ValueType(string(e.typ))), true
		}
		late = late || e.typ == nil
		unknown := s.unknown
		out = s.value(out, e.def.depth-1, e.def.text || isDiscriminator(name), want)
		s.unknown = unknown // values may have any keys
		return out
	})
	e.decodable = s.fits && hasValue && !late
	if late && e.def != property {
		again := scanner{Cursor: skim.New(s.Since(start))}
		s.elem = again.value(s.elem[:0], e.def.depth, e.def.text, nil)
	}
}

// value appends the skeleton of the next value. Strings and numbers keep their content if text is set.
func (s *scanner) value(out []byte, depth int, text bool, want *skim.Shape) []byte {
	kind := s.Kind()
	switch {
	case kind != '{' && kind != '[':
		s.fits = s.fits && want.Allows(kind)
		return s.scalar(out, text)
	case depth <= 0:
		s.fits = s.SkipAs(want) && s.fits
		return append(out, kind, kind+2) // opening and closing bracket are two code points apart
	case !want.Allows(kind):
		s.fits, want = false, nil
	}
	if kind == '[' {
		return s.list(out, depth-1, text, want.Element())
	}
	return s.fields(out, want, func(out, name []byte, field *skim.Shape) []byte {
		return s.value(out, depth-1, text || isDiscriminator(name), field)
	})
}

func (s *scanner) scalar(out []byte, text bool) []byte {
	kind, raw := s.Kind(), s.Value()
	switch {
	case text:
	case kind == '"' && len(raw) > len(`""`):
		return append(out, `"x"`...)
	case kind == '-' || '0' <= kind && kind <= '9':
		return append(out, '0')
	}
	return append(out, raw...)
}

// fields reads an object, and calls value to append the skeleton of each field. The name is in quotes, without needless
// escapes.
func (s *scanner) fields(out []byte, want *skim.Shape, value func(out, name []byte, field *skim.Shape) []byte) []byte {
	out = append(out, '{')
	var others bool
	for s.Enter(); s.More(); {
		raw := s.Value()
		field, known, ok := want.Member(raw)
		s.fits = s.fits && ok
		s.unknown = s.unknown || !known
		name := plainName(raw)
		if name == nil {
			others = true
			s.fits = s.SkipAs(field) && s.fits
			continue
		}
		out = append(append(out, name...), ':')
		out = append(value(out, name, field), ',')
	}
	if others {
		out = append(out, otherKey...)
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}

// otherKey represents all keys of an object that no definition names; only their presence matters.
const otherKey = `"-":0`

func (s *scanner) list(out []byte, depth int, text bool, want *skim.Shape) []byte {
	out = append(out, '[')
	var last, end int // offsets of the last element that was kept
	for s.Enter(); s.More(); {
		start := len(out)
		if end > 0 {
			start++
			out = append(out, ',')
		}
		out = s.value(out, depth, text, want)
		if end > 0 && bytes.Equal(out[last:end], out[start:]) {
			out = out[:end]
			continue
		}
		last, end = start, len(out)
	}
	return append(out, ']')
}

// isDiscriminator reports whether definitions compare the strings under this name with constants.
func isDiscriminator(name []byte) bool {
	return string(name) == `"schema"` || string(name) == `"type"`
}

// plainName returns a name in quotes without needless escapes, or nil if no definition names it.
func plainName(quoted []byte) []byte {
	text := skim.Unquote(quoted)
	if !fieldNames()[string(text)] {
		return nil
	}
	if len(text)+2 == len(quoted) {
		return quoted
	}
	plain, _ := jsontext.AppendQuote(nil, text)
	return plain
}
