// Package document reads the documents of JSON and YAML files as upstream does, and finds the places of their values.
//
//	for chunk := range document.Split(file, size, 0) {
//		err := chunk.Read(parse, visit) // for each document: its JSON, its text, its place
//	}
//	doc, further, err := document.First(text, nil) // of a manifest
//	values := doc.Find("/entries/2/name")          // [{{6 3} {6 9} true}]
//
// # Splitting
//
// A file is split into chunks of whole documents at text that no value contains: at lines that start with --- in YAML,
// at line breaks between } and { in JSON. So several goroutines can read the chunks of one file. A file whose first
// character is { is JSON, unless its first or second object is not valid JSON: then the rest is YAML, as upstream reads
// it.
//
// A document has at most [DefaultLimit] bytes, or the given limit. Above 16 MB, its end is found before it is read, and
// only one such document is in memory at a time.
//
// # Places
//
// Package yamljson converts block-style YAML, which is nearly all of it, in one pass. The same pass finds places in it;
// in other YAML the tree of package syntax does. The place of a value is computed only when a problem is printed; each
// object and list around it is then read once, however many values are looked up.
package document

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A Document is one JSON value or YAML document of a file. Its methods must not be called concurrently.
type Document struct {
	Text   []byte // as in the file
	Offset int64  // of Text in the file
	Start  Place  // of Text
	Place  Place  // of the value, which comments may precede
	YAML   bool

	JSON jsontext.Value

	// Repaired reports whether the text is not I-JSON: it has equal keys, of which the last one wins, or bytes that are
	// not UTF-8, which are replaced.
	Repaired bool

	from *origin // nil until a place is needed
}

// Clone returns a copy of the document that stays valid.
func (d *Document) Clone() *Document {
	c := *d
	c.Text, c.JSON, c.from = bytes.Clone(d.Text), bytes.Clone(d.JSON), nil
	return &c
}

// Load converts Text, which was read before, to JSON. The JSON follows Text in the same memory if there is room.
func (d *Document) Load() error {
	d.JSON = d.Text
	if d.YAML {
		both, err := yamljson.Append(d.Text, d.Text)
		if err != nil {
			return err
		}
		n := len(d.Text)
		d.Text, d.JSON = both[:n], both[n:]
	}
	if d.Repaired {
		d.JSON = Repair(d.JSON)
	}
	return nil
}

// Repair returns raw as upstream reads it: with the last of several equal keys, and with bytes that are not UTF-8
// replaced.
func Repair(raw []byte) jsontext.Value {
	if !utf8.Valid(raw) {
		raw = []byte(string([]rune(string(raw))))
	}
	return format.AppendCompact(nil, raw)
}

// Lenient accepts the same JSON as encoding/json, which upstream uses.
var Lenient = syntax.Lenient

// An Error is the reason why a document cannot be read.
type Error struct {
	Place Place
	Err   error
	Text  []byte // the unreadable text; nil if it is unknown
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the problem, without the place.
func (e *Error) Unwrap() error { return e.Err }

// In returns e as an error in the file of that name.
func (e *Error) In(file string) *place.Error { return &place.Error{Pos: e.Place.Pos(file), Err: e.Err} }

// YAMLError returns an error of package yamljson about a text that starts at a place.
func YAMLError(start Place, err error) *Error {
	if y, ok := errors.AsType[*yamljson.Error](err); ok {
		return &Error{Place: Place{y.Line, y.Column}.In(start), Err: errors.New(y.Msg)}
	}
	return &Error{Place: start, Err: err}
}

// space are the characters allowed between JSON tokens.
const space = " \t\r\n"

func leadingSpace(text []byte) int {
	return len(text) - len(bytes.TrimLeft(text, space))
}

var byteOrderMark = []byte("\ufeff")
