package declcfg

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/skim"
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
		folded := skim.Fold(name)
		if names[folded] {
			fail(name, "the key %q is repeated in another case", name)
		}
		names[folded] = true
		into := s.headField(folded)
		if into == nil {
			plain, err := bundleFields().named([]byte(name)).scan(r, reflect.ValueOf(&s.rest).Elem())
			if err != nil {
				return err
			}
			s.needsDecode = s.needsDecode || !plain
			continue
		}
		value, err := r.ReadValue()
		if err != nil {
			return err
		}
		if value.Kind() != '"' {
			fail(name, "%s must be a string, found %s%s", folded, kindNames[value.Kind()], quotes(value.Kind()))
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
		return &headError{"", "object is missing root schema field" + withoutSchema(names)}
	}
	return nil
}

// quotes returns what to do about a value of a kind in place of a string, or "".
func quotes(found jsontext.Kind) string {
	switch found {
	case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
		return "; put it in quotes"
	}
	return ""
}

// withoutSchema returns the probable reason why an object with these keys, folded, has no schema, or "".
func withoutSchema(keys map[string]bool) string {
	if keys["apiversion"] && keys["kind"] {
		return "; it is a manifest of Kubernetes: move it out of the catalog, or add its file to .indexignore"
	}
	near := nearest.Name("schema", slices.Collect(maps.Keys(keys)))
	if near == "" || keys["schema"] {
		return ""
	}
	return fmt.Sprintf("; did you mean \"schema\" by the key %q?", near)
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

	rest Bundle // without the head

	// needsDecode is true if the object is not a bundle in the form that opm writes, valid or not.
	needsDecode bool
}

// bundle returns the object as a bundle, or nil if it has to be decoded.
func (s *scannedObject) bundle() *Bundle {
	if s.needsDecode {
		return nil
	}
	b := s.rest
	b.Schema, b.Name, b.Package = s.schema, s.name, s.pkg
	return &b
}

// bundleOf decodes a bundle without copying the values of its properties. It returns nil if that is not possible.
func bundleOf(raw jsontext.Value) *Bundle {
	var s scannedObject
	if err := s.read(newReader(raw)); err != nil {
		return nil
	}
	return s.bundle()
}
