package edit

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
)

// jsonTree returns the tree of one JSON value.
func jsonTree(text []byte) (*node, error) {
	r := jsonReader{jsontext.NewDecoder(bytes.NewBuffer(text), document.Lenient), text}
	return r.value()
}

type jsonReader struct {
	*jsontext.Decoder
	text []byte
}

func (r jsonReader) value() (*node, error) {
	kind := r.PeekKind()
	at := r.next()
	n := &node{start: at, from: at, flow: true}
	switch kind {
	case jsontext.KindBeginObject:
		n.kind = object
	case jsontext.KindBeginArray:
		n.kind = list
	default:
		if kind == jsontext.KindString {
			n.quote = '"'
		}
		err := r.SkipValue()
		n.to = int(r.InputOffset())
		return n, err
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	for k := r.PeekKind(); k != jsontext.KindEndObject && k != jsontext.KindEndArray; k = r.PeekKind() {
		child, err := r.child(n.kind)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	_, err := r.ReadToken()
	n.to = int(r.InputOffset())
	return n, err
}

// child reads the next member or element.
func (r jsonReader) child(of kind) (*node, error) {
	if of == list {
		return r.value()
	}
	start := r.next()
	key, err := r.ReadToken()
	if err != nil {
		return nil, err
	}
	name := key.String()
	n, err := r.value()
	if err == nil {
		n.name, n.start = name, start
	}
	return n, err
}

// next returns where the next key or value starts.
func (r jsonReader) next() int {
	at := int(r.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	return at
}
