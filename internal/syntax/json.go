package syntax

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lenient accepts the same JSON as encoding/json, which upstream uses.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// A JSONReader is a decoder with the options [Lenient] that reports the offsets of keys and values.
type JSONReader struct {
	*jsontext.Decoder
	text []byte
}

// NewJSONReader returns a reader of the JSON value at the start of a text.
func NewJSONReader(text []byte) JSONReader {
	return JSONReader{jsontext.NewDecoder(bytes.NewBuffer(text), Lenient), text}
}

// Next returns the offset of the next key or value. It reports false at the end of an object or a list and before an
// error.
func (r JSONReader) Next() (int, bool) {
	switch r.PeekKind() {
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		return 0, false
	}
	at := int(r.InputOffset())
	for bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	return at, true
}

// More reports whether there is a next key or value, as Next does.
func (r JSONReader) More() bool {
	_, more := r.Next()
	return more
}

// Value returns the text of the next key or value; nil if there is none, or it is invalid.
func (r JSONReader) Value() []byte {
	at, more := r.Next()
	if !more || r.SkipValue() != nil {
		return nil
	}
	return r.text[at:r.InputOffset()]
}

// Child goes to the value of the next member of an object, or to the next element of an array, which has no name. It
// reports false as Next does.
func (r JSONReader) Child(kind jsontext.Kind) (key, value int, name string, ok bool) {
	key, ok = r.Next()
	if !ok || kind == jsontext.KindBeginArray {
		return key, key, "", ok
	}
	token, err := r.ReadToken()
	if err != nil {
		return 0, 0, "", false
	}
	name = token.String()
	value, ok = r.Next()
	return key, value, name, ok
}

// nothing is around JSON.
var nothing = &Around{}

// node reads the value that starts at an offset.
func (r JSONReader) node(at int) (*Node, error) {
	n := &Node{Start: at, From: at, Body: at, Flow: true, Around: nothing}
	token, err := r.ReadToken()
	kind := token.Kind()
	switch kind {
	case jsontext.KindBeginObject:
		n.Kind = Object
	case jsontext.KindBeginArray:
		n.Kind = List
	case jsontext.KindString:
		n.Quote, n.Value = '"', token.String()
	}
	for n.Kind != Scalar && err == nil {
		start, value, name, ok := r.Child(kind)
		if !ok {
			_, err = r.ReadToken()
			break
		}
		end := int(r.InputOffset())
		var child *Node
		if child, err = r.node(value); n.Kind == Object {
			child.Name, child.Start = name, start
			child.Key = &Node{
				Flow: true, Quote: '"', Value: name, Start: start, From: start, Body: start, To: end, Around: nothing,
			}
		}
		n.Children = append(n.Children, child)
	}
	n.To = int(r.InputOffset())
	return n, err
}
