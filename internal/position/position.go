// Package position tells where the values of a JSON or YAML document stand in its text. It is for problems that are
// shown to people; reading a catalog does without it.
//
//	doc, err := position.YAML(text)
//	place, ok := doc.Value("/entries/2/name") // {6 9}, true
//
// Values are named by JSON pointers (RFC 6901), in YAML too: its keys are compared as opm turns them into JSON, where y
// is "true" and 0x10 is "16". Of equal keys the last counts, since opm takes that one.
package position

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A Place is a position in a text. Lines and columns count from 1. A line ends after a line feed; columns count
// characters, not bytes, and a byte order mark at the start is none.
type Place struct{ Line, Column int }

// A Document knows where the values of one document stand.
//
// It looks at the text again for every object and array that it is asked about for the first time, and remembers only
// those. So calls may not run at once, and the text must not change.
type Document struct {
	text  text
	root  value // nil if the document holds none
	dupes func(yield func(repetition))
}

// A value is one that stands in a document.
type value interface {
	// offset returns where the value starts.
	offset() int
	// child returns the member or element that a token of a pointer names, and where its key starts.
	child(token string) (key int, child value, ok bool)
}

// Value returns where the value at ptr starts. Where there is no such value, it is the place of the nearest one around
// it that exists, and false.
//
// A YAML alias stands where it is used, what is in it where its anchor is. A null that is left out stands where it is
// missed.
func (d *Document) Value(ptr jsontext.Pointer) (Place, bool) {
	_, v, ok := d.find(ptr)
	return d.text.place(v), ok
}

// Key returns where the key of the value at ptr starts, for elements of arrays and the whole document where the value
// does. Where there is no such value, it is what Value returns.
func (d *Document) Key(ptr jsontext.Pointer) (Place, bool) {
	key, _, ok := d.find(ptr)
	return d.text.place(key), ok
}

// find returns the offsets of the key and of the value at ptr, or twice that of the nearest value around it.
func (d *Document) find(ptr jsontext.Pointer) (key, val int, ok bool) {
	if d.root == nil {
		return 0, 0, false
	}
	v := d.root
	key = v.offset()
	for token := range ptr.Tokens() {
		k, child, ok := v.child(token)
		if !ok {
			return v.offset(), v.offset(), false
		}
		key, v = k, child
	}
	return key, v.offset(), true
}

// element returns the index that a token of a pointer names in an array of n elements.
func element(token string, n int) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == token
}
