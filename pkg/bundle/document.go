package bundle

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/position"
	"github.com/opm-toolchain/opm/internal/yamljson"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A document is the first one of a file, which is all that opm reads of a manifest.
type document struct {
	file string // for positions
	text []byte // of the whole file
	end  int    // of the document in text
	next int    // where in text another one may start
	json jsontext.Value
	kind documentKind

	places *position.Document // nil until a place is asked for
}

type documentKind uint8

const (
	jsonDocument documentKind = iota
	blockDocument
	yamlDocument
)

// lenient reads what encoding/json reads, which is what upstream uses.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

var errSeparator = errors.New("only a comment may follow --- on its line")

// readDocument reads the first document of a file: JSON, or YAML where that fails. The JSON of YAML is appended to buf.
// As in opm a separator line ends the document, even if nothing but comments stands before it.
func readDocument(file string, text, buf []byte) (*document, *declcfg.Error) {
	doc := &document{file: file, text: text}
	var notJSON error
	if looksLikeJSON(text) {
		if notJSON = doc.readJSON(); notJSON == nil {
			return doc, nil
		}
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		doc.text = append(text, '\n') // as upstream does, which shows where a block of text ends the file
	}
	var bad bool
	if doc.end, bad = documentEnd(doc.text); bad {
		return nil, doc.errorAt(doc.end, errSeparator)
	}
	doc.next = doc.end
	err := doc.readYAML(buf)
	if err != nil && doc.cutAtEndMarker() {
		err = doc.readYAML(buf)
	}
	switch {
	case err == nil:
		return doc, nil
	case notJSON != nil && beginsLikeJSON(text):
		return nil, doc.jsonError(notJSON)
	case errors.Is(err, yamljson.ErrEmpty):
		return nil, doc.emptyError()
	}
	return nil, doc.yamlError(err)
}

// looksLikeJSON is the rule of upstream: the first character that is no space is a brace.
func looksLikeJSON(text []byte) bool {
	const sniffed = 30 // how far upstream looks
	return bytes.HasPrefix(bytes.TrimSpace(text[:min(len(text), sniffed)]), []byte("{"))
}

// beginsLikeJSON tells whether the author of text, which starts with a brace, has likely meant JSON: keys of YAML need
// no quotes.
func beginsLikeJSON(text []byte) bool {
	inside, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimSpace(inside), []byte(`"`))
}

func (d *document) readJSON() error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(d.text), lenient)
	raw, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		raw = []byte(string([]rune(string(raw)))) // every byte that is no UTF-8 becomes a U+FFFD
	}
	d.json, d.kind = raw, jsonDocument
	d.end = int(decoder.InputOffset())
	d.next = d.end
	return nil
}

func (d *document) readYAML(buf []byte) error {
	raw, block, err := yamljson.Convert(buf, d.text[:d.end])
	d.json, d.kind = raw, yamlDocument
	if block {
		d.kind = blockDocument
	}
	return err
}

// cutAtEndMarker ends the document at a line of three dots. Upstream drops what follows it, and package yamljson
// refuses that.
func (d *document) cutAtEndMarker() bool {
	dots := bytes.Index(d.text[:d.end], []byte("\n..."))
	if dots < 0 {
		return false
	}
	next := lineEnd(d.text, dots+1)
	rest := d.text[dots+len("\n...") : next]
	if trimmed := bytes.TrimSpace(rest); len(trimmed) > 0 && (trimmed[0] != '#' || rest[0] == '#') {
		return false
	}
	d.end, d.next = dots+1, next
	return true
}

// documentEnd returns where the first separator line starts that does not begin the text, or len(text). It is bad if
// more than a comment follows the hyphens, and so may be one at the beginning.
func documentEnd(text []byte) (end int, bad bool) {
	for line := 0; line < len(text); {
		if bytes.HasPrefix(text[line:], separator) {
			rest := bytes.TrimSpace(text[line+len(separator) : lineEnd(text, line)])
			if bad = len(rest) > 0 && rest[0] != '#'; bad || line > 0 {
				return line, bad
			}
		}
		next := bytes.Index(text[line:], separatorLine)
		if next < 0 {
			break
		}
		line += next + 1
	}
	return len(text), false
}

var (
	separator     = []byte("---")
	separatorLine = []byte("\n---")
)

// lineEnd returns where the line that holds an offset ends.
func lineEnd(text []byte, offset int) int {
	if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
		return offset + i
	}
	return len(text)
}

// more returns where the file goes on behind the document, if it holds more than comments and separators there.
func (d *document) more() (declcfg.Pos, bool) {
	for at := d.next; at < len(d.text); {
		end := lineEnd(d.text, at)
		line := bytes.TrimSpace(d.text[at:end])
		rest, _ := bytes.CutPrefix(line, separator)
		if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
			return d.offset(at + bytes.IndexByte(d.text[at:], line[0])), true
		}
		at = end + 1
	}
	return declcfg.Pos{}, false
}

// offset returns the place of an offset in the file.
func (d *document) offset(at int) declcfg.Pos {
	before := d.text[:at]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return declcfg.Pos{
		File:   d.file,
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(bytes.TrimPrefix(line, byteOrderMark)) + 1,
	}
}

var byteOrderMark = []byte("\ufeff")

func (d *document) errorAt(offset int, err error) *declcfg.Error {
	return &declcfg.Error{Pos: d.offset(offset), Err: err}
}

// pos returns where the value at ptr stands, or the nearest value around it.
func (d *document) pos(ptr jsontext.Pointer) declcfg.Pos {
	if d.places == nil {
		d.places = d.findPlaces()
	}
	place, _ := d.places.Value(ptr)
	return declcfg.Pos{File: d.file, Line: place.Line, Column: place.Column}
}

func (d *document) findPlaces() *position.Document {
	var places *position.Document
	switch d.kind {
	case jsonDocument:
		places, _ = position.JSON(d.text[:d.end])
	case blockDocument:
		places = position.Block(d.text[:d.end])
	default:
		places, _ = position.YAML(d.text[:d.end])
	}
	return places
}

// errorIn is an error about the value at ptr.
func (d *document) errorIn(ptr jsontext.Pointer, err error) *declcfg.Error {
	return &declcfg.Error{Pos: d.pos(ptr), Pointer: ptr, Err: err}
}

func (d *document) yamlError(err error) *declcfg.Error {
	if y, ok := errors.AsType[*yamljson.Error](err); ok {
		pos := declcfg.Pos{File: d.file, Line: y.Line, Column: y.Column}
		return &declcfg.Error{Pos: pos, Err: errors.New(y.Msg)}
	}
	return d.errorAt(0, err)
}

func (d *document) jsonError(err error) *declcfg.Error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return d.errorAt(len(bytes.TrimSpace(d.text)), errors.New("the JSON object does not end"))
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return d.errorAt(min(int(s.ByteOffset), len(d.text)), s.Err)
	}
	return d.errorAt(0, err)
}

// emptyError tells an empty file from one whose first document is.
func (d *document) emptyError() *declcfg.Error {
	if pos, ok := d.more(); ok {
		return &declcfg.Error{Pos: pos, Err: errors.New("only the first document of a file counts, and it is empty")}
	}
	return d.errorAt(0, errors.New("the file is empty"))
}
