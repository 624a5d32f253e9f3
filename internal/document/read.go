package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// Read calls parse and then visit for every document of c. Parse reads the next value of the decoder, whose input is
// text. It may fail with a *[jsontext.SyntacticError] if the value is not I-JSON, and is then called again for the
// repaired value, or with any other error. Visit is called with that error, or with an *[Error] and no document if
// there is none. The document is valid until visit returns.
//
// An error of Read itself means that the rest of the file cannot be read: it is an *[Error], or the error of reading
// the file.
func (c *Chunk) Read(parse func(r *jsontext.Decoder, text []byte) error, visit func(*Document, error)) error {
	if c.err != nil {
		return c.err
	}
	r := &chunkReader{Chunk: c, parse: parse, visit: visit}
	if c.yaml {
		r.readYAML()
		return nil
	}
	return r.readJSON()
}

// All yields the documents of a file in order, or the error of reading one. A document is valid until the next one. An
// error without a document is an *[Error], or the error of reading the file.
func All(r io.ReaderAt, size int64) iter.Seq2[*Document, error] {
	skip := func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() }
	return func(yield func(*Document, error) bool) {
		more := true
		visit := func(doc *Document, err error) { more = more && yield(doc, err) }
		for chunk := range Split(r, size, 0) {
			if err := chunk.Read(skip, visit); err != nil {
				visit(nil, err)
			}
			if chunk.Recycle(); !more {
				return
			}
		}
	}
}

type chunkReader struct {
	*Chunk
	parse func(r *jsontext.Decoder, text []byte) error
	visit func(*Document, error)
	doc   Document

	source *yamljson.Source // of doc
	origin origin
}

func newDecoder(text []byte) *jsontext.Decoder { return jsontext.NewDecoder(bytes.NewBuffer(text)) }

// readJSON reads a stream of JSON values.
func (c *chunkReader) readJSON() error {
	text := c.data
	if err := c.checkLarge(); err != nil {
		return c.breaksOff(c.place, text, err)
	}
	d := newDecoder(text)
	place := c.place
	for from, base := 0, 0; ; {
		start := from + leadingSpace(c.data[from:])
		place = place.After(c.data[from:start])
		if start == len(c.data) {
			return nil
		}
		c.doc = Document{Offset: c.off + int64(start), Start: place, Place: place}
		err := c.parse(d, text)
		end := base + int(d.InputOffset())
		if isSyntax(err) {
			if end, err = c.readLenient(c.data[start:]); end < 0 {
				return c.breaksOff(place, c.data[start:], err)
			}
			end += start
			text, base = c.data[end:], end
			d = newDecoder(text)
		} else {
			c.doc.JSON = c.data[start:end:end]
		}
		c.doc.Text = c.data[start:end]
		c.visit(&c.doc, err)
		place = place.After(c.doc.Text)
		from = end
	}
}

// checkLarge returns a syntax error in the data if it is a single large document. Parse may take a hundred times as
// long to find it, because it keeps and compares keys.
func (c *Chunk) checkLarge() error {
	if !c.isLarge {
		return nil
	}
	_, err := jsontext.NewDecoder(bytes.NewBuffer(c.data), Lenient).ReadValue()
	return err
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*jsontext.SyntacticError](err)
	return ok
}

// readLenient reads the value at the start of text, which is not I-JSON, as encoding/json would. It returns the end of
// the value and the error of parse, or -1 and a syntax error.
func (c *chunkReader) readLenient(text []byte) (end int, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), Lenient)
	value, err := d.ReadValue()
	if err != nil {
		return -1, err
	}
	c.doc.Repaired = true
	c.doc.JSON = Repair(value)
	return int(d.InputOffset()), c.parse(newDecoder(c.doc.JSON), c.doc.JSON)
}

// breaksOff returns the error about text, the unreadable rest of a stream of JSON in c.
func (c *Chunk) breaksOff(place Place, text []byte, err error) error {
	if c.more && errors.Is(err, io.ErrUnexpectedEOF) {
		// The splitter took the next brace for the start of an object, which would be right if this one were complete.
		_, err = jsontext.NewDecoder(bytes.NewBuffer(append(bytes.Clone(text), '{')), Lenient).ReadValue()
	}
	failure := syntaxError(place, text, err)
	if c.more {
		failure.Text = nil // the unreadable text continues in later chunks
	}
	return failure
}

// sources holds memory for the places in documents.
var sources = pool.New(6, func() *yamljson.Source { return new(yamljson.Source) },
	func(s *yamljson.Source) (*yamljson.Source, bool) { return s, s.Recycle() })

// readYAML reads YAML documents, separated by lines that begin with three hyphens.
func (c *chunkReader) readYAML() {
	buf := Buffers.Get()
	c.source = sources.Get()
	defer func() {
		Buffers.Put(buf)
		sources.Put(c.source)
	}()
	place, from := c.place, 0
	if c.off == 0 && bytes.HasPrefix(c.data, byteOrderMark) {
		from = len(byteOrderMark) // and no column
	}
	ends := documentEnds{open: c.off > 0 && c.notJSON == nil}
	for from < len(c.data) {
		text, start, valid := nextYAML(c.data[from:])
		if !valid {
			c.visit(nil, &Error{Place{1, 4}.In(place), errSeparator, text})
		}
		c.doc = Document{Offset: c.off + int64(from+start), Start: place.After(text[:start]), Text: text[start:], YAML: true}
		var empty bool
		buf, empty = c.readDocument(buf[:0])
		content := text[start:]
		if c.notJSON != nil && c.off > 0 {
			// After an object in JSON, upstream skips the rest of its line.
			content = bytes.TrimPrefix(bytes.TrimLeft(content, " \t\r"), newline)
		}
		isText := ends.isText(start > 0)
		switch isRead := ends.next(start > 0, len(content) > 0); {
		case isRead && empty:
			c.Refused = append(c.Refused, &Error{Place: place, Err: errEmpty})
		case isText && bytes.HasPrefix(content, byteOrderMark):
			c.Refused = append(c.Refused, &Error{Place: c.doc.Start, Err: errInnerMark})
		}
		c.notJSON = nil // only the first document was tried as JSON
		place = place.After(text)
		from += len(text)
	}
}

// A documentEnds finds the ends of documents for upstream, which reads a separator as text of the next document unless
// it ends a document: the second of two consecutive separators is text, and so is a separator at the start of the file.
type documentEnds struct {
	open bool // the text so far has a document that the next separator ends
}

// next reports whether upstream reads a document, which may be empty, after an optional separator, and with content up
// to the next separator.
func (e *documentEnds) next(separator, content bool) bool {
	e.open = e.isText(separator) || content
	return e.open
}

// isText reports whether the next separator, if there is one, is text of the document after it.
func (e *documentEnds) isText(separator bool) bool { return separator && !e.open }

var (
	errSeparator = errors.New("only a comment may follow --- on its line")
	errEmpty     = errors.New("empty document, which upstream refuses")
	errInnerMark = errors.New("byte order mark after the leading ---, which upstream reads as part of the first key")
)

// nextYAML returns text up to the next separator line, and the offset of the document in it, after its own separator.
// It reports false if the line of that separator has more than a comment.
func nextYAML(text []byte) (doc []byte, start int, valid bool) {
	doc = text
	if i := bytes.Index(text, separatorLine); i >= 0 {
		doc = text[:i+1]
	}
	if !bytes.HasPrefix(doc, separator) {
		return doc, 0, true
	}
	start = syntax.LineEnd(doc, 0)
	rest := bytes.TrimSpace(doc[len(separator):start])
	return doc, start, len(rest) == 0 || rest[0] == '#'
}

var (
	separatorLine = []byte("\n---")
	separator     = separatorLine[1:]
)

// readDocument reads a YAML document, which may be empty. It returns buf, perhaps grown.
func (c *chunkReader) readDocument(buf []byte) (_ []byte, empty bool) {
	doc := &c.doc
	lead := blankLines(doc.Text)
	if lead == len(doc.Text) {
		return buf, true
	}
	doc.Place = doc.Start.After(doc.Text[:lead])
	if isList(doc.Text[lead:]) {
		// A long list is not converted, since parse rejects it without its content.
		doc.JSON = emptyList
		c.visit(doc, c.parse(newDecoder(doc.JSON), doc.JSON))
		return buf, false
	}
	raw, repeated, err := yamljson.Convert(buf, doc.Text, c.source, &c.Expanded)
	switch {
	case errors.Is(err, yamljson.ErrEmpty):
		return raw, true
	case err != nil:
		c.visit(nil, doc.unreadable(err, c.notJSON))
		return buf, false
	}
	doc.JSON, doc.Repaired = raw, repeated
	if c.source.Text != nil {
		c.origin = origin{text: c.source.Text, json: raw, source: c.source}
		doc.from = &c.origin
	}
	err = c.parse(newDecoder(raw), raw)
	if isSyntax(err) { // equal keys
		_, err = c.readLenient(raw)
	}
	c.visit(doc, err)
	return raw, false
}

var emptyList = jsontext.Value("[]")

// isList reports cheaply whether a YAML document, which starts with text, is a list.
func isList(text []byte) bool {
	return text[0] == '[' || text[0] == '-' && (len(text) == 1 || text[1] == ' ' || text[1] == '\n')
}

// blankLines returns the length of the lines at the start of text that are blank or have only a comment.
func blankLines(text []byte) int {
	for i := 0; ; {
		rest := bytes.TrimLeft(text[i:], space+"\ufeff")
		if len(rest) == 0 {
			return len(text)
		}
		i = len(text) - len(rest)
		if rest[0] != '#' {
			return i
		}
		i = syntax.LineEnd(text, i)
	}
}

// unreadable returns the error about a YAML document, or the JSON error if its author probably meant JSON.
func (d *Document) unreadable(err, notJSON error) *Error {
	if notJSON != nil && beginsLikeJSON(d.Text) {
		return syntaxError(d.Start, d.Text, notJSON)
	}
	e := YAMLError(d.Start, err)
	e.Text = d.Text
	return e
}

// syntaxError returns an error of the JSON reader with its position and our words. The text starts at start.
func syntaxError(start Place, text []byte, err error) *Error {
	if bytes.HasPrefix(text, separator) {
		return &Error{start, errors.New("YAML in a file that begins with two JSON objects, which is JSON to its end"), text}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		first := start.After(text[:leadingSpace(text)])
		err := fmt.Errorf("the JSON object that starts at %d:%d does not end", first.Line, first.Column)
		return &Error{start.After(bytes.TrimRight(text, space)), err, text}
	}
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &Error{start, err, text}
	}
	if found := yamljson.Conflict(text); found != nil {
		e := YAMLError(start, found)
		e.Text = text
		return e
	}
	at := start.After(text[:min(int(s.ByteOffset), len(text))])
	if s.Err.Error() == "exceeded max depth" { // it has no name
		return &Error{at, errors.New("nested deeper than 10,000 levels"), text}
	}
	return &Error{at, fmt.Errorf("not valid JSON: %w", s.Err), text}
}

// beginsLikeJSON reports whether the author of text, which starts with a brace, probably meant JSON: keys of YAML need
// no quotes.
func beginsLikeJSON(text []byte) bool {
	inside, ok := bytes.CutPrefix(bytes.TrimLeft(text, space), []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(inside, space), []byte(`"`))
}
