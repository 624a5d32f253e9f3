// Package yamljson converts YAML documents to JSON exactly as upstream does with sigs.k8s.io/yaml:
// plain scalars follow YAML 1.1 (yes and on are booleans, a leading zero is octal, times stay text), anchors, aliases
// and merge keys are resolved, keys of other types become text.
//
//	out, err := yamljson.Append(nil, []byte("schema: olm.package\nname: n\n"))
//	// out is {"schema":"olm.package","name":false}
//
// There are two readers. The fast reader converts the block style that catalogs are written in, in a single pass and
// without a tree; it keeps the order of keys and the digits of numbers. All other syntax, and every error, is left to
// the slow reader, which is about thirty times slower: sigs.k8s.io/yaml, with go.yaml.in/yaml/v4 for the places of
// errors.
//
// Content that upstream drops without a message is an error: content after a line `...`, and after a document in
// brackets or quotes. Aliases may expand to 64 MB of JSON, and documents for the slow reader may have a million values.
// Every error has a place.
package yamljson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// ErrEmpty is returned for a document that has only blanks, comments, `---` and `...`.
var ErrEmpty = errors.New("empty document")

// An Error is a problem in a document, with its place.
// Line and Column count from 1 in the document as it was given to [Append]; columns count characters, and a byte order
// mark at the start is none.
type Error struct {
	Line, Column int
	Msg          string
}

// Error returns the place and the message, such as "3:7: unknown anchor".
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg)
}

// Append appends doc, one YAML document, to dst as compact JSON and returns the extended slice.
//
// The document is the text between two `---` lines. It may begin with one such line, which may carry a comment, and
// with a byte order mark before it, and its lines may end in CR LF. After a line `...` only blanks and comments may
// follow.
//
// In block style, all of several equal keys are kept, and the last one counts; [Convert] reports others.
//
// The error is [ErrEmpty] or an [*Error]; dst is then returned unchanged. Calls may run concurrently.
func Append(dst, doc []byte) ([]byte, error) {
	out, _, err := Convert(dst, doc, nil, nil)
	return out, err
}

// Convert is [Append] that also reports whether a mapping repeats a key that the JSON has once. If source is not nil,
// it is set to the source of the JSON. If expanded is not nil, it is the size of the expanded aliases of other
// documents, which counts towards [MaxExpansion]; the size for this document is added.
func Convert(dst, doc []byte, source *Source, expanded *int) (out []byte, repeated bool, err error) {
	source.reset()
	text, found, err := normalize(doc)
	if err != nil {
		return dst, false, err
	}
	out, ok := appendFast(dst, text, found, source)
	if ok {
		source.set(text)
	} else {
		out, repeated, err = appendSlow(dst, text, expanded)
	}
	if err == nil && len(out) > len(dst) && out[len(dst)] == '"' { // which may be a conflict marker above a line ---
		if found := Conflict(text); found != nil {
			err = found
		}
	}
	if err == nil {
		return out, repeated, nil
	}
	if y, ok := errors.AsType[*Error](err); ok { // its place may be behind the line break that was added
		y.Line = min(y.Line, 1+bytes.Count(doc, []byte("\n")))
	}
	return dst, false, err
}

// normalize returns doc without a byte order mark and, if possible, with LF at the end of lines. Upstream reads files
// line by line, so that a block scalar at the end of a file ends in a line break even if the file does not.
func normalize(doc []byte) (text []byte, found breaks, err error) {
	text = bytes.TrimPrefix(doc, []byte(byteOrderMark))
	found, err = checkCharacters(text)
	if found.returns && !found.others {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return ended(text), found, err
}

// ended adds the line break of the last line of text if that may belong to a block scalar.
func ended(text []byte) []byte {
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 && last < len(text)-1 && bytes.ContainsAny(text[:last], "|>") {
		return append(slices.Clip(text), '\n')
	}
	return text
}

// A Source maps the keys and values of converted JSON to the YAML. A Source that is used again uses its memory again.
type Source struct {
	Text  []byte // the document, which offsets refer to; nil if it is not in block style
	marks []mark // by offset in the JSON
}

// A mark is the offsets of the start of a key or value, in the JSON and in the text.
type mark struct{ json, text int }

// maxKeptMarks limits the memory that is kept for the next document, 1 MB.
const maxKeptMarks = 1 << 16

// Recycle drops the document. It reports whether the memory is worth keeping for the next one.
func (s *Source) Recycle() bool {
	s.reset()
	return cap(s.marks) <= maxKeptMarks
}

func (s *Source) reset() {
	if s != nil {
		s.Text, s.marks = nil, s.marks[:0]
	}
}

func (s *Source) set(text []byte) {
	if s != nil {
		s.Text = text
	}
}

// Trace converts a document in block style. For any other document, Text stays nil.
func (s *Source) Trace(doc []byte) []byte {
	s.reset()
	text, found, err := normalize(doc)
	if err != nil {
		return nil
	}
	s.marks = slices.Grow(s.marks, len(text)/16)
	out, ok := appendFast(make([]byte, 0, len(text)+len(text)/8), text, found, s)
	if ok {
		s.set(text)
	}
	return out
}

// Offset returns the offset in the text of the key or value that starts at an offset of the JSON.
func (s *Source) Offset(at int) int {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].json >= at })
	return s.marks[i].text
}
