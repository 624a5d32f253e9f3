package syntax

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A jsonReader reads the tree of one JSON value.
type jsonReader struct {
	*jsontext.Decoder
	text []byte
}

func (r jsonReader) value() (*Node, error) {
	kind := r.PeekKind()
	at := r.next()
	n := &Node{Start: at, From: at, Body: at, Flow: true}
	switch kind {
	case jsontext.KindBeginObject:
		n.Kind = Object
	case jsontext.KindBeginArray:
		n.Kind = List
	default:
		token, err := r.ReadToken()
		if kind == jsontext.KindString && err == nil {
			n.Quote, n.Value = '"', token.String()
		}
		n.To = int(r.InputOffset())
		return n, err
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	for k := r.PeekKind(); k != jsontext.KindEndObject && k != jsontext.KindEndArray; k = r.PeekKind() {
		child, err := r.child(n.Kind)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, child)
	}
	_, err := r.ReadToken()
	n.To = int(r.InputOffset())
	return n, err
}

func (r jsonReader) child(parent Kind) (*Node, error) {
	if parent == List {
		return r.value()
	}
	key := &Node{Start: r.next(), Quote: '"', Flow: true}
	name, err := r.ReadToken()
	if err != nil {
		return nil, err
	}
	key.From, key.Body, key.To, key.Value = key.Start, key.Start, int(r.InputOffset()), name.String()
	n, err := r.value()
	if err == nil {
		n.Name, n.Key, n.Start = key.Value, key, key.Start
	}
	return n, err
}

// next returns the start of the next key or value.
func (r jsonReader) next() int {
	at := int(r.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	return at
}
