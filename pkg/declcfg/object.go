package declcfg

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/position"
)

// An Object is one object of a catalog with its text in memory. The one that [Map] passes to its callback is valid
// until the callback returns, with all that shares memory with it: its JSON, and the values of properties of a decoded
// bundle. What is kept of it is its Meta.
type Object struct {
	*Meta

	raw   jsontext.Value // the object
	text  []byte         // the document as it is in the file; nil for an object that is in no file
	draft draft          // of raw
	ready bool           // draft was read, and not yet given away
}

// NewObject returns the object raw, which must be a JSON object with a non-empty text under schema, at pos. It shares
// the memory of raw. Its Meta cannot be read again.
func NewObject(pos Pos, raw jsontext.Value) (*Object, error) {
	o := &Object{Meta: &Meta{Pos: pos}, raw: raw}
	r := newReader(raw)
	err := o.readHead(r)
	if err == nil && r.SkipValue() != io.EOF {
		err = errors.New("want one object, found more behind it")
	}
	if err != nil {
		return nil, &Error{Pos: pos, Err: err}
	}
	return o, nil
}

// JSON returns the object as JSON, valid and without equal keys, in the order and spelling of its author. The caller
// must not change it.
func (o *Object) JSON() jsontext.Value { return o.raw }

// Place is [Meta.Place] without reading the object again.
func (o *Object) Place(ptr jsontext.Pointer) Pos { return o.Places([]jsontext.Pointer{ptr})[0] }

// Places is [Meta.Places] without reading the object again.
func (o *Object) Places(ptrs []jsontext.Pointer) []Pos {
	places := make([]Pos, len(ptrs))
	doc := o.document()
	for i, ptr := range ptrs {
		places[i] = o.Pos
		if doc == nil || ptr == "" {
			continue
		}
		if p, ok := doc.Value(ptr); ok || p.Line > 0 {
			places[i] = o.src.pos.at(p.Line, p.Column)
		}
	}
	return places
}

// document parses the text of o for places. It is nil where there is none.
func (o *Object) document() *position.Document {
	if o.text == nil {
		return nil
	}
	if o.src.block {
		return position.Block(o.text)
	}
	parse := position.JSON
	if o.src.yaml {
		parse = position.YAML
	}
	doc, err := parse(o.text)
	if err != nil {
		return nil
	}
	return doc
}
