// Package yamljson converts YAML documents to JSON exactly as opm reads them, which is as sigs.k8s.io/yaml does:
// plain scalars follow YAML 1.1 (yes and on are booleans, a leading zero is octal, times stay text), anchors, aliases
// and merge keys are resolved, keys of other types become text.
//
//	out, err := yamljson.Append(nil, []byte("schema: olm.package\nname: n\n"))
//	// out is {"schema":"olm.package","name":false}
//
// It departs from it in four ways. Keys keep the order of the document. Numbers keep their digits, where upstream
// passes them through a 64-bit floating point number. A document is refused that goes on after a `...` line, where
// upstream drops what follows. And every error has a place.
//
// Two readers share the work. The fast one knows the block style that catalogs are written in and converts it in a
// single pass, without a tree. Whatever it does not know, and every error, it leaves to the full one, which walks the
// nodes of go.yaml.in/yaml/v4. On what the fast one accepts both give the same bytes.
package yamljson

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrEmpty is returned for a document that holds nothing but blanks, comments, `---` and `...`.
var ErrEmpty = errors.New("empty document")

// An Error is what is wrong with a document, and where.
// Line and Column count from 1 in the document as it was given to [Append]; columns count characters, and a byte order
// mark at the start is none.
type Error struct {
	Line, Column int
	Msg          string
}

// Error returns the message with its place in front, as in "3:7: unknown anchor".
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg)
}

// Append appends doc, one YAML document, to dst as compact JSON and returns the longer slice.
//
// The document is the text between two `---` lines. It may begin with one such line, which may carry a comment, and
// with a byte order mark before it, and its lines may end in CR LF. After a line `...` only blanks and comments may
// follow.
//
// Keys keep the order of the document, and equal keys are all kept: the last of them is the one that counts. Only the
// keys that a merge key (`<<`) brings in are sorted out first: they precede the mapping's own, and of such a key and
// an equal one of the mapping only the one that counts is kept. Upstream that is the one that stands further down, so
// what the mapping says itself wins over the merge keys above it.
//
// The error is [ErrEmpty] or an [*Error], and dst is then returned as it was. Calls may run at once.
func Append(dst, doc []byte) ([]byte, error) {
	text := bytes.TrimPrefix(doc, []byte(byteOrderMark))
	found, err := checkCharacters(text)
	if err != nil {
		return dst, err
	}
	if found == returns {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		found = feeds
	}
	if found == feeds {
		if out, ok := appendFast(dst, text); ok {
			return out, nil
		}
	}
	out, err := appendFull(dst, text)
	if err != nil {
		return dst, err
	}
	return out, nil
}
