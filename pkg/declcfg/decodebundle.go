package declcfg

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
	if s.needsDecode || s.relatedImages != nil && json.Unmarshal(s.relatedImages, &b.RelatedImages, likeUpstream) != nil {
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
