package declcfg

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A headError is a problem with one of the keys that every object has.
type headError struct {
	ptr jsontext.Pointer
	msg string
}

func (e *headError) Error() string { return e.msg }

// read reads the object that r is at, to its end. The error is a *jsontext.SyntacticError if the object is not JSON,
// and a *headError if it is not an object of a catalog.
func (s *scannedObject) read(r reader) error {
	*s = scannedObject{}
	var bad *headError
	fail := func(name, format string, args ...any) {
		if bad == nil {
			bad = &headError{jsontext.Pointer("").AppendToken(name), fmt.Sprintf(format, args...)}
		}
	}
	if kind := r.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		if err := r.SkipValue(); err != nil {
			return err
		}
		return &headError{"", "want an object, found " + kindNames[kind]}
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	names := map[string]bool{} // folded
	for r.PeekKind() == '"' {
		raw, err := r.ReadValue()
		if err != nil {
			return err
		}
		name := unquoted(raw)
		folded := fold(name)
		if names[folded] {
			fail(name, "the key %q is repeated in another case", name)
		}
		names[folded] = true
		into := s.headField(folded)
		if into == nil {
			if err := s.member(name, r); err != nil {
				return err
			}
			continue
		}
		value, err := r.ReadValue()
		if err != nil {
			return err
		}
		if value.Kind() != '"' {
			fail(name, "%s must be a string, found %s", folded, kindNames[value.Kind()])
			continue
		}
		*into = unquoted(value)
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	switch {
	case bad != nil:
		return bad
	case s.schema == "":
		return &headError{"", "object is missing root schema field"}
	}
	return nil
}

func (s *scannedObject) headField(folded string) *string {
	switch folded {
	case "schema":
		return &s.schema
	case "package":
		return &s.pkg
	case "name":
		return &s.name
	}
	return nil
}

// commonStrings has the most frequent strings of objects, so that each is in memory once.
var commonStrings = map[string]string{}

func init() {
	for _, s := range []string{
		"schema", "package", "name", "image", "properties", "relatedImages", "entries", "defaultChannel", "icon",
		"description", SchemaPackage, SchemaChannel, SchemaBundle, SchemaDeprecations,
	} {
		commonStrings[s] = s
	}
}

// unquoted returns the value of a JSON string that a decoder has validated.
func unquoted(raw jsontext.Value) string {
	if inner := raw[1 : len(raw)-1]; strings.IndexByte(string(inner), '\\') < 0 {
		if s, ok := commonStrings[string(inner)]; ok {
			return s
		}
		return string(inner)
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// fold returns the case-folded form of s, which is equal for strings that differ only in case. It uses the simple
// Unicode folding with which encoding/json matches names.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 || 'A' <= s[i] && s[i] <= 'Z' {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string", '0': "a number", '[': "a list", '{': "an object",
}

// A reader reads objects member by member. The returned values are parts of the input, not copies.
type reader struct {
	*jsontext.Decoder
	text []byte // that the decoder reads
}

func newReader(text []byte) reader {
	return reader{jsontext.NewDecoder(bytes.NewBuffer(text)), text}
}

func (r reader) value() (jsontext.Value, error) {
	value, err := r.ReadValue()
	end := r.InputOffset()
	return r.text[end-int64(len(value)) : end : end], err
}

// A scannedObject is the head of an object and, for a bundle, its other fields, found in one pass. Nearly all bytes of
// a catalog are values of properties of bundles: a second pass for them costs an eighth of the time of opm list.
type scannedObject struct {
	schema, pkg, name string

	image         string
	properties    []Property
	relatedImages jsontext.Value

	// needsDecode is true if the object is not a bundle in the form that opm writes, valid or not.
	needsDecode bool
}

// member reads the value of a member that is not part of the head of an object.
func (s *scannedObject) member(name string, r reader) (err error) {
	switch name {
	case "image":
		return s.string(&s.image, r)
	case "properties":
		return s.list(r)
	case "relatedImages":
		s.relatedImages, err = r.value()
		return err
	}
	return s.skip(r)
}

func (s *scannedObject) skip(r reader) error {
	s.needsDecode = true
	return r.SkipValue()
}

func (s *scannedObject) string(into *string, r reader) error {
	if r.PeekKind() != '"' {
		return s.skip(r)
	}
	value, err := r.ReadValue()
	if err == nil {
		*into = unquoted(value)
	}
	return err
}

func (s *scannedObject) list(r reader) error {
	if r.PeekKind() != '[' {
		return s.skip(r)
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	s.properties = []Property{}
	for kind := r.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = r.PeekKind() {
		if err := s.property(r); err != nil {
			return err
		}
	}
	_, err := r.ReadToken()
	return err
}

func (s *scannedObject) property(r reader) error {
	if r.PeekKind() != '{' {
		return s.skip(r)
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	var p Property
	for r.PeekKind() == '"' {
		name, err := r.ReadValue()
		if err != nil {
			return err
		}
		switch string(name) {
		case `"type"`:
			err = s.string(&p.Type, r)
		case `"value"`:
			p.Value, err = r.value()
		default:
			err = s.skip(r)
		}
		if err != nil {
			return err
		}
	}
	s.properties = append(s.properties, p)
	_, err := r.ReadToken()
	return err
}

// bundle returns the object as a bundle, or nil if it has to be decoded.
func (s *scannedObject) bundle() *Bundle {
	b := &Bundle{Schema: s.schema, Name: s.name, Package: s.pkg, Image: s.image, Properties: s.properties}
	if s.needsDecode ||
		s.relatedImages != nil && json.Unmarshal(s.relatedImages, &b.RelatedImages, structOptions) != nil {
		return nil
	}
	return b
}

// bundleOf decodes a bundle without copying the values of its properties. It returns nil if that is not possible.
func bundleOf(raw jsontext.Value) *Bundle {
	var s scannedObject
	if err := s.read(newReader(raw)); err != nil {
		return nil
	}
	return s.bundle()
}
