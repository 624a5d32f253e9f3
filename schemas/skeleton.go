package schemas

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A scanner reads an object once and makes skeletons of it. The skeleton of a value is JSON on which a definition has
// the same verdict, and which many values share: strings that are not empty are "x", numbers are 0, neighbours in a
// list that look alike are there once, keys that no definition names are one key, and what lies deeper than the
// definition looks is an empty object or list.
type scanner struct {
	buf bytes.Buffer // what dec reads; jsontext reads a buffer in place
	dec jsontext.Decoder
	raw jsontext.Value // all of the input

	head []byte // the skeleton of the object, its lists emptied
	elem []byte // the skeleton of the element that was read last
}

// An element is one of the elements of a list that is checked element by element.
type element struct {
	list     string
	index    int
	def      *definition
	typ      []byte         // of a property; nil if it has none that is a string
	raw      jsontext.Value // a part of the object
	skeleton []byte         // with the name of the definition after it; valid until the next element is read
}

// object reads one object. It yields its elements in their order, and returns the skeleton of the rest with the name of
// the definition after it, which is valid until the next object is read.
func (s *scanner) object(def *definition, raw jsontext.Value, yield func(element)) (skeleton []byte, err error) {
	s.reset(raw)
	s.head, err = s.members(s.head[:0], def, yield)
	return append(s.head, def.name...), err
}

func (s *scanner) reset(raw jsontext.Value) {
	s.raw = raw
	s.buf = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (s *scanner) members(out []byte, def *definition, yield func(element)) ([]byte, error) {
	if s.dec.PeekKind() != '{' {
		return s.value(out, def.depth, def.text)
	}
	return s.fields(out, func(out []byte, name []byte) ([]byte, error) {
		list := def.lists[string(unquoted(name))]
		if list == nil || s.dec.PeekKind() != '[' {
			return s.value(out, def.depth-1, def.text || saysWhat(name))
		}
		return append(out, "[]"...), s.elements(list, string(unquoted(name)), yield)
	})
}

func (s *scanner) elements(def *definition, list string, yield func(element)) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; s.dec.PeekKind() != ']'; i++ {
		e, err := s.element(def)
		if err != nil {
			return err
		}
		e.list, e.index = list, i
		yield(e)
	}
	_, err := s.dec.ReadToken()
	return err
}

// element reads the next element.
func (s *scanner) element(def *definition) (e element, err error) {
	start := s.dec.InputOffset()
	e.def = def
	if def == property && s.dec.PeekKind() == '{' {
		err = s.property(&e)
	} else {
		s.elem, err = s.value(s.elem[:0], def.depth, def.text)
	}
	if err != nil {
		return e, err
	}
	e.raw = bytes.TrimLeft(s.raw[start:s.dec.InputOffset()], ", \t\r\n")
	s.elem = append(s.elem, e.def.name...)
	e.skeleton = s.elem
	return e, nil
}

// property reads a property in one go where its type comes first, as it does in what tools write. Otherwise it is read
// again once the type is known.
func (s *scanner) property(e *element) error {
	start := s.dec.InputOffset()
	var late bool
	var err error
	s.elem, err = s.fields(s.elem[:0], func(out []byte, name []byte) ([]byte, error) {
		if string(name) == `"type"` && s.dec.PeekKind() == '"' {
			return s.propertyType(out, e)
		}
		late = late || e.typ == nil
		return s.value(out, e.def.depth-1, e.def.text || saysWhat(name))
	})
	if err != nil || !late || e.def == property {
		return err
	}
	var again scanner
	again.reset(bytes.TrimLeft(s.raw[start:s.dec.InputOffset()], ", \t\r\n"))
	s.elem, err = again.value(s.elem[:0], e.def.depth, e.def.text)
	return err
}

func (s *scanner) propertyType(out []byte, e *element) ([]byte, error) {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return out, err
	}
	e.typ = unquoted(raw)
	if def, ok := propertyDefinitions[string(e.typ)]; ok {
		e.def = def
	}
	return append(out, raw...), nil
}

// value appends the skeleton of the next value. Strings and numbers stay what they are if text is set.
func (s *scanner) value(out []byte, depth int, text bool) ([]byte, error) {
	kind := s.dec.PeekKind()
	switch {
	case kind == '{' && depth <= 0:
		return append(out, "{}"...), s.dec.SkipValue()
	case kind == '[' && depth <= 0:
		return append(out, "[]"...), s.dec.SkipValue()
	case kind == '{':
		return s.fields(out, func(out []byte, name []byte) ([]byte, error) {
			return s.value(out, depth-1, text || saysWhat(name))
		})
	case kind == '[':
		return s.list(out, depth-1, text)
	}
	raw, err := s.dec.ReadValue()
	switch {
	case err != nil:
		return out, err
	case kind == '"' && !text && string(raw) != `""`:
		return append(out, `"x"`...), nil
	case kind == '0' && !text:
		return append(out, '0'), nil
	}
	return append(out, raw...), nil
}

// fields reads an object; value appends what belongs to a name, which is in quotes and has no needless escapes.
func (s *scanner) fields(out []byte, value func(out, name []byte) ([]byte, error)) ([]byte, error) {
	if _, err := s.dec.ReadToken(); err != nil {
		return out, err
	}
	out = append(out, '{')
	var others bool
	for s.dec.PeekKind() != '}' {
		raw, err := s.dec.ReadValue()
		if err != nil {
			return out, err
		}
		name := plainName(raw)
		if name == nil {
			others = true
			if err := s.dec.SkipValue(); err != nil {
				return out, err
			}
			continue
		}
		out = append(append(out, name...), ':')
		if out, err = value(out, name); err != nil {
			return out, err
		}
		out = append(out, ',')
	}
	if others {
		out = append(out, otherKey...)
	}
	out = bytes.TrimSuffix(out, []byte(","))
	_, err := s.dec.ReadToken()
	return append(out, '}'), err
}

// otherKey represents all keys of an object that no definition names: it makes a difference only whether there are any.
const otherKey = `"-":0`

func (s *scanner) list(out []byte, depth int, text bool) ([]byte, error) {
	if _, err := s.dec.ReadToken(); err != nil {
		return out, err
	}
	out = append(out, '[')
	var last, end int // where the last element that is kept starts and ends
	for s.dec.PeekKind() != ']' {
		start := len(out)
		if end > 0 {
			start++
			out = append(out, ',')
		}
		var err error
		if out, err = s.value(out, depth, text); err != nil {
			return out, err
		}
		if end > 0 && bytes.Equal(out[last:end], out[start:]) {
			out = out[:end]
			continue
		}
		last, end = start, len(out)
	}
	_, err := s.dec.ReadToken()
	return append(out, ']'), err
}

// saysWhat reports whether the strings under a name are compared with constants.
func saysWhat(name []byte) bool {
	return string(name) == `"schema"` || string(name) == `"type"`
}

// plainName returns a name in quotes without needless escapes; nil if no definition names it.
func plainName(quoted []byte) []byte {
	text := unquoted(quoted)
	if !fieldNames()[string(text)] {
		return nil
	}
	if len(text)+2 == len(quoted) {
		return quoted
	}
	plain, _ := jsontext.AppendQuote(nil, text)
	return plain
}

// unquoted returns the text of a string of JSON.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}
