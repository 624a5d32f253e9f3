// Package skim reads JSON that is known to be valid. It does not validate it again, so it takes half the time of a
// decoder.
//
//	c := skim.New(object)
//	for c.Enter(); c.More(); {
//		name, kind := c.Value(), c.Kind()
//		…
//		c.Skip()
//	}
package skim

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A Cursor moves over a value from its start to its end. In text that is not valid JSON its results are undefined, but
// it reaches the end.
type Cursor struct {
	text []byte
	at   int
}

// New returns a cursor at the start of a value.
func New(value []byte) Cursor {
	c := Cursor{text: value}
	c.Kind()
	return c
}

// At returns a cursor at an offset of a text, before a value.
func At(text []byte, offset int) Cursor { return Cursor{text, offset} }

// Seek moves to an offset.
func (c *Cursor) Seek(offset int) { c.at = offset }

// Since returns the text between an offset and the cursor.
func (c *Cursor) Since(offset int) []byte { return c.text[offset:c.at:c.at] }

// Offset returns the offset of the cursor in the text.
func (c *Cursor) Offset() int { return c.at }

// Kind moves to the next value, name or end of a container, and returns its first byte; 0 at the end of the text.
func (c *Cursor) Kind() byte {
	text, i := c.text, c.at
	for i < len(text) && isBetween(text[i]) {
		i++
	}
	c.at = i
	if i >= len(text) {
		return 0
	}
	return text[i]
}

// isBetween reports whether a byte is between names, values and brackets.
func isBetween(b byte) bool { return b <= ' ' || b == ',' || b == ':' }

// Enter enters the object or list that is next.
func (c *Cursor) Enter() { c.at++ }

// More reports whether the object or list has another member or element. At its end it leaves it.
func (c *Cursor) More() bool {
	switch c.Kind() {
	case '}', ']':
		c.at++
		return false
	}
	return c.at < len(c.text)
}

// Value returns the next value or name.
func (c *Cursor) Value() jsontext.Value {
	c.Kind()
	start := c.at
	c.Skip()
	return c.Since(start)
}

// Skip moves past the next value or name.
func (c *Cursor) Skip() {
	switch c.Kind() {
	case '"':
		c.at++
		if n := StringEnd(c.text[c.at:]); n >= 0 {
			c.at += n
		} else {
			c.at = len(c.text)
		}
	case '{', '[':
		for c.Enter(); c.More(); {
			c.Skip()
		}
	default:
		for c.at < len(c.text) && !isBetween(c.text[c.at]) && c.text[c.at] != '}' && c.text[c.at] != ']' {
			c.at++
		}
	}
}

// StringEnd returns the offset after the closing quote of a string whose opening quote is before text, or -1. The text
// need not be valid.
func StringEnd(text []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		if i += n; !Escapes(text[:i]) {
			return i + 1
		}
	}
}

// Escapes reports whether text ends with a backslash that is not escaped itself.
func Escapes(text []byte) bool {
	escapes := false
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		escapes = !escapes
	}
	return escapes
}

// Unquote returns the text of a string or a name.
func Unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}
