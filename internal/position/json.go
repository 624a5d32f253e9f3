package position

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns the places of a document of one JSON value. What follows the value is not looked at.
//
// The error is that of a text without a value. A text that breaks off or is wrong further down gives none: the places
// before that are known.
func JSON(doc []byte) (*Document, error) {
	d := &Document{text: newText(doc)}
	r := newReader(d.text.bytes, 0)
	start, ok := r.next()
	if !ok {
		_, err := r.ReadToken()
		return d, err
	}
	text := jsonText(d.text.bytes)
	d.root = node{newTree(text.container), start}
	d.dupes = text.repetitions
	return d, nil
}

// A jsonText is the text of one JSON value.
type jsonText []byte

func (t jsonText) container(at int) container {
	var c container
	r := newReader(t, at)
	switch r.PeekKind() {
	case jsontext.KindBeginObject:
		c.members = r.members()
	case jsontext.KindBeginArray:
		c.elements = r.elements()
	}
	return c
}

// A reader is a decoder that knows where the next value starts.
type reader struct {
	*jsontext.Decoder
	text []byte
	base int // where in text the decoder began
}

func newReader(text []byte, at int) reader {
	return reader{
		Decoder: jsontext.NewDecoder(bytes.NewBuffer(text[at:]),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		text: text,
		base: at,
	}
}

// next returns where the next key or value starts. It reports false at the end of a container and before an error.
func (r reader) next() (int, bool) {
	switch r.PeekKind() {
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		return 0, false
	}
	at := r.base + int(r.InputOffset())
	for isGap(r.text[at]) {
		at++
	}
	return at, true
}

// isGap tells whether a byte may stand between two tokens.
func isGap(b byte) bool {
	return b == ' ' || b == '\t' || b == '\r' || b == '\n' || b == ',' || b == ':'
}

func (r reader) members() map[string]member {
	members := make(map[string]member)
	_, err := r.ReadToken()
	for err == nil {
		name, m, ok := r.member()
		if !ok {
			break
		}
		members[name] = m
		_, err = r.ReadValue()
	}
	return members
}

// member reads a key. It reports false at the end of the object, and where no value follows.
func (r reader) member() (name string, m member, ok bool) {
	m.key, ok = r.next()
	if !ok {
		return "", m, false
	}
	token, err := r.ReadToken()
	if err != nil {
		return "", m, false
	}
	name = token.String()
	m.value, ok = r.next()
	return name, m, ok
}

func (r reader) elements() []int {
	var elements []int
	_, err := r.ReadToken()
	for err == nil {
		at, ok := r.next()
		if !ok {
			break
		}
		elements = append(elements, at)
		_, err = r.ReadValue()
	}
	return elements
}
