package declcfg

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A reader reads objects member by member. The values that it returns are parts of what it reads, not copies.
type reader struct {
	*jsontext.Decoder
	text []byte // that the decoder reads
}

func newReader(text []byte) reader {
	return reader{jsontext.NewDecoder(bytes.NewBuffer(text)), text}
}

// value returns the next value.
func (r reader) value() (jsontext.Value, error) {
	value, err := r.ReadValue()
	end := r.InputOffset()
	return r.text[end-int64(len(value)) : end : end], err
}

// A draft is a bundle as far as its head can be read. Nearly all bytes of a catalog are values of properties of
// bundles, so these are found on the way instead of in a second pass, and are not copied.
type draft struct {
	image         string
	properties    []Property
	relatedImages jsontext.Value

	// odd tells that the object is not as opm itself writes bundles, right or wrong, so that it has to be decoded.
	odd bool
}

// member reads the value of a member that is no part of the head of an object.
func (b *draft) member(name string, r reader) (err error) {
	switch name {
	case "image":
		return b.string(&b.image, r)
	case "properties":
		return b.list(r)
	case "relatedImages":
		b.relatedImages, err = r.value()
		return err
	}
	return b.skip(r)
}

// skip passes over a value that is odd.
func (b *draft) skip(r reader) error {
	b.odd = true
	return r.SkipValue()
}

func (b *draft) string(into *string, r reader) error {
	if r.PeekKind() != '"' {
		return b.skip(r)
	}
	value, err := r.ReadValue()
	if err == nil {
		*into = unquoted(value)
	}
	return err
}

func (b *draft) list(r reader) error {
	if r.PeekKind() != '[' {
		return b.skip(r)
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	b.properties = []Property{}
	for kind := r.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = r.PeekKind() {
		if err := b.property(r); err != nil {
			return err
		}
	}
	_, err := r.ReadToken()
	return err
}

func (b *draft) property(r reader) error {
	if r.PeekKind() != '{' {
		return b.skip(r)
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
			err = b.string(&p.Type, r)
		case `"value"`:
			p.Value, err = r.value()
		default:
			err = b.skip(r)
		}
		if err != nil {
			return err
		}
	}
	b.properties = append(b.properties, p)
	_, err := r.ReadToken()
	return err
}

// bundle returns the bundle with the head of m, or nil if it is odd.
func (b *draft) bundle(m *Meta) *Bundle {
	v := &Bundle{Schema: m.Schema, Name: m.Name, Package: m.Package, Image: b.image, Properties: b.properties}
	if b.odd || b.relatedImages != nil && json.Unmarshal(b.relatedImages, &v.RelatedImages, likeUpstream) != nil {
		return nil
	}
	return v
}

// bundleOf decodes a bundle without copying the values of its properties. It returns nil for an odd one.
func bundleOf(raw jsontext.Value) *Bundle {
	var m Meta
	d, err := m.readHead(newReader(raw))
	if err != nil {
		return nil
	}
	return d.bundle(&m)
}
