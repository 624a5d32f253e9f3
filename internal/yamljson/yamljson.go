// Package yamljson converts YAML documents to JSON exactly as opm reads them, which is as sigs.k8s.io/yaml does:
// plain scalars follow YAML 1.1 (yes and on are booleans, a leading zero is octal, times stay text), anchors, aliases
// and merge keys are resolved, keys of other types become text.
//
//	out, err := yamljson.Append(nil, []byte("schema: olm.package\nname: n\n"))
//	// out is {"schema":"olm.package","name":false}
//
// It departs from that in few ways. Keys keep the order of the document. Numbers keep their digits, where upstream
// passes them through 64-bit floating point. What upstream drops without a word is an error: content after a line
// `...`, and content after a document in brackets or quotes. Aliases may become 64 MB of JSON. And every error has a
// place.
//
// Two readers share the work. The fast one knows the block style that catalogs are written in and converts it in a
// single pass, without a tree. What it does not know, and every error, it leaves to the full one, which is some thirty
// times slower: it walks the nodes of go.yaml.in/yaml/v4 and has the result confirmed by sigs.k8s.io/yaml. On what the
// fast one accepts both give the same bytes.
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
// equal ones of the mapping only the one that counts is kept. As upstream, that is the one that stands further down:
// what the mapping says itself wins over the merge keys above it and loses to those below.
//
// In a few corners of the grammar, which yaml/v4 reads otherwise than upstream, the JSON is upstream's own, with sorted
// keys and 64-bit numbers.
//
// The error is [ErrEmpty] or an [*Error], and dst is then returned as it was. Calls may run at once.
func Append(dst, doc []byte) ([]byte, error) {
	out, _, err := Convert(dst, doc)
	return out, err
}

// Convert is [Append] that also tells whether the document is in the block style that the fast reader knows: its
// structure can be seen from the indentation of its lines.
func Convert(dst, doc []byte) (out []byte, block bool, err error) {
	text := bytes.TrimPrefix(doc, []byte(byteOrderMark))
	found, err := checkCharacters(text)
	if err != nil {
		return dst, false, err
	}
	if found == returns {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		found = feeds
	}
	if found == feeds {
		if out, ok := appendFast(dst, text); ok {
			return out, true, nil
		}
	}
	if out, err = appendFull(dst, text); err != nil {
		return dst, false, err
	}
	return out, false, nil
}
