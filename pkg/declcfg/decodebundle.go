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

// A draft is what one pass over an object finds: its head and, if it is a bundle, the rest. Nearly all bytes of a
// catalog are values of properties of bundles, so these are found on the way instead of in a second pass, and are not
// copied.
type draft struct {
	schema, pkg, name string

	image         string
	properties    []Property
	relatedImages jsontext.Value

	// needsDecode says that the object is not a bundle as opm itself writes it, right or wrong.
	needsDecode bool
}

// member reads the value of a member that is not part of the head of an object.
func (d *draft) member(name string, r reader) (err error) {
	switch name {
	case "image":
		return d.string(&d.image, r)
	case "properties":
		return d.list(r)
	case "relatedImages":
		d.relatedImages, err = r.value()
		return err
	}
	return d.skip(r)
}

// skip skips a value that a draft has no place for.
func (d *draft) skip(r reader) error {
	d.needsDecode = true
	return r.SkipValue()
}

func (d *draft) string(into *string, r reader) error {
	if r.PeekKind() != '"' {
		return d.skip(r)
	}
	value, err := r.ReadValue()
	if err == nil {
		*into = unquoted(value)
	}
	return err
}

func (d *draft) list(r reader) error {
	if r.PeekKind() != '[' {
		return d.skip(r)
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	d.properties = []Property{}
	for kind := r.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = r.PeekKind() {
		if err := d.property(r); err != nil {
			return err
		}
	}
	_, err := r.ReadToken()
	return err
}

func (d *draft) property(r reader) error {
	if r.PeekKind() != '{' {
		return d.skip(r)
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
			err = d.string(&p.Type, r)
		case `"value"`:
			p.Value, err = r.value()
		default:
			err = d.skip(r)
		}
		if err != nil {
			return err
		}
	}
	d.properties = append(d.properties, p)
	_, err := r.ReadToken()
	return err
}

// bundle returns the object as a bundle, or nil if it has to be decoded.
func (d *draft) bundle() *Bundle {
	b := &Bundle{Schema: d.schema, Name: d.name, Package: d.pkg, Image: d.image, Properties: d.properties}
	if d.needsDecode || d.relatedImages != nil && json.Unmarshal(d.relatedImages, &b.RelatedImages, likeUpstream) != nil {
		return nil
	}
	return b
}

// bundleOf decodes a bundle without copying the values of its properties. It returns nil where that cannot be done.
func bundleOf(raw jsontext.Value) *Bundle {
	var d draft
	if err := d.read(newReader(raw)); err != nil {
		return nil
	}
	return d.bundle()
}
