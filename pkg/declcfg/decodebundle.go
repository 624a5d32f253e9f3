package declcfg

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bundleOf decodes a bundle without copying the values of its properties, which are nearly all of a catalog. It returns
// nil for everything that is not as opm itself writes bundles, right or wrong, and leaves that to unmarshal.
func bundleOf(raw jsontext.Value) *Bundle {
	b := new(Bundle)
	r := memberReader{Decoder: jsontext.NewDecoder(bytes.NewBuffer(raw)), raw: raw}
	ok := r.object(func(name string) bool {
		switch name {
		case "schema":
			return r.text(&b.Schema)
		case "name":
			return r.text(&b.Name)
		case "package":
			return r.text(&b.Package)
		case "image":
			return r.text(&b.Image)
		case "properties":
			return r.properties(&b.Properties)
		case "relatedImages":
			value, ok := r.value()
			return ok && json.Unmarshal(value, &b.RelatedImages, likeUpstream) == nil
		}
		return false
	})
	if !ok {
		return nil
	}
	return b
}

// A memberReader reads objects member by member. Its methods return false for what they do not expect.
type memberReader struct {
	*jsontext.Decoder
	raw jsontext.Value // that it reads
}

// object calls member with the name of every member, which must read the value.
func (r memberReader) object(member func(name string) bool) bool {
	if token, err := r.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for r.PeekKind() == '"' {
		name, err := r.ReadValue()
		if err != nil || !member(unquoted(name)) {
			return false
		}
	}
	_, err := r.ReadToken()
	return err == nil
}

func (r memberReader) text(into *string) bool {
	value, err := r.ReadValue()
	if err != nil || value.Kind() != '"' {
		return false
	}
	*into = unquoted(value)
	return true
}

// value returns the next value as a part of raw.
func (r memberReader) value() (jsontext.Value, bool) {
	value, err := r.ReadValue()
	end := r.InputOffset()
	return r.raw[end-int64(len(value)) : end : end], err == nil
}

func (r memberReader) properties(into *[]Property) bool {
	if token, err := r.ReadToken(); err != nil || token.Kind() != '[' {
		return false
	}
	*into = []Property{}
	for r.PeekKind() == '{' {
		var p Property
		ok := r.object(func(name string) (ok bool) {
			switch name {
			case "type":
				return r.text(&p.Type)
			case "value":
				p.Value, ok = r.value()
			}
			return ok
		})
		if !ok {
			return false
		}
		*into = append(*into, p)
	}
	_, err := r.ReadToken()
	return err == nil
}
