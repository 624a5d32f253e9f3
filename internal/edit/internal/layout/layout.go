// Package layout prints YAML and JSON documents that people write in one layout: known keys in a fixed order, and
// uniform indentation and quotes. Comments stay with the values they are about.
//
//	shape := skim.ShapeOf(reflect.TypeFor[declcfg.Package]())
//	order := &layout.Order{Shapes: map[string]*skim.Shape{"olm.package": shape}}
//	out, err := layout.YAML(nil, []byte("name: 'kiln' # of clay\nschema: olm.package\n"), order)
//	// schema: olm.package
//	// name: kiln # of clay
//
// The text of values comes from the document: a number keeps its digits, a block of text its lines. The output is read
// again before it is returned, and must have the same value and the same comments as the document. Printing the output
// again does not change it.
package layout

import (
	"bytes"
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// maxLines is the maximum number of lines in a YAML document; each takes a kilobyte of memory.
const maxLines = 250_000

// maxSize is the maximum size of an output, in bytes. With thousands of nested levels, the indentation of a line is
// longer than its text.
const maxSize = 64 << 20

var errTooLarge = errors.New("more than 64 MB once it is indented")

// YAML appends doc, a YAML document without a line `---`, to dst. order is the key order of its root; nil keeps the
// order of all keys. The keys of a document with aliases also keep their order.
//
// The error is a [*document.Error] with a place in doc.
func YAML(dst, doc []byte, order *Order) ([]byte, error) {
	if n := bytes.Count(doc, newline); n > maxLines {
		return dst, failure(doc, 0, "more than 250,000 lines in a document")
	}
	text := bytes.ReplaceAll(doc, []byte("\r\n"), newline)
	if i := bytes.IndexByte(text, '\r'); i >= 0 {
		return dst, failure(text, i, "a carriage return that does not end a line")
	}
	before, err := syntax.Parse(text, true)
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return dst, failure(text, e.At, e.Msg)
	} else if err != nil {
		return dst, document.YAMLError(start, err)
	}
	if !before.Aliases {
		order.sort(before.Root)
	}
	w := printer{text: text, dst: dst, limit: len(dst) + maxSize}
	w.document(before.Root)
	if w.full {
		return dst, failure(text, 0, errTooLarge.Error())
	}
	return w.dst, check(text, w.dst[len(dst):], before.Comments)
}

// check reads out, the output for doc, and returns an error unless it has the same value and the same comments.
func check(doc, out []byte, comments []string) error {
	was, err := yamljson.Append(nil, doc)
	if err != nil {
		return document.YAMLError(start, err)
	}
	is, err := yamljson.Append(nil, out)
	if err != nil || !bytes.Equal(format.AppendCompact(nil, was), format.AppendCompact(nil, is)) {
		return failure(doc, 0, "formatting would change the value of this document")
	}
	if len(comments) == 0 {
		return nil
	}
	after, err := syntax.Parse(out, true)
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(comments)), slices.Sorted(slices.Values(after.Comments))) {
		return failure(doc, 0, "formatting would lose a comment of this document")
	}
	return nil
}

// start is the place of the first byte of a text.
var start = document.Place{Line: 1, Column: 1}

var newline = []byte("\n")

// failure returns an error at an offset of text.
func failure(text []byte, offset int, message string) error {
	return &document.Error{Place: start.After(text[:offset]), Err: errors.New(message)}
}
