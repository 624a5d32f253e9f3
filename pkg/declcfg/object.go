package declcfg

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
)

// An Object is one object of a catalog with its text in memory. The one that [Map] passes to its callback is valid
// until the callback returns, like everything that shares its memory: its JSON, and the values of properties of a
// decoded bundle. Only its Meta may be kept.
type Object struct {
	*Meta

	doc document.Document // without text if the object is in no file

	scanned scannedObject // the JSON
	ready   bool          // whether scanned is complete, and not yet returned by Decode
}

// NewObject returns the object raw, which must be a JSON object with a non-empty string at the key schema. It shares
// the memory of raw. Its Meta cannot be read again. Errors are at pos.
func NewObject(pos Pos, raw jsontext.Value) (*Object, error) {
	o := &Object{doc: document.Document{JSON: raw}, ready: true}
	r := newReader(raw)
	err := o.scanned.read(r)
	if err == nil && r.SkipValue() != io.EOF {
		err = errors.New("want one object, found more after it")
	}
	if err != nil {
		return nil, &Error{Pos: pos, Err: err}
	}
	o.Meta = o.scanned.meta(pos)
	return o, nil
}

// JSON returns the object as JSON, valid and without equal keys, in the order and spelling of its author. The caller
// must not change it.
func (o *Object) JSON() jsontext.Value { return o.doc.JSON }

// Document returns the text of the object, with its position in its file.
func (o *Object) Document() *document.Document { return &o.doc }

// Place is [Meta.Place] without reading the object again.
func (o *Object) Place(ptr jsontext.Pointer) Pos { return o.Places([]jsontext.Pointer{ptr})[0] }

// Places is [Meta.Places] without reading the object again.
func (o *Object) Places(ptrs []jsontext.Pointer) []Pos { return o.placesIn(&o.doc, ptrs) }
