package declcfg

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// read calls visit for every object of c, or for what keeps it from being read. Text and JSON of an object are valid
// until visit returns. An error of read itself means that the rest of the file is lost.
func (c *chunk) read(visit func(*Object, error)) error {
	if c.err != nil {
		return c.err
	}
	if c.yaml {
		c.readYAML(visit)
		return nil
	}
	return c.readJSON(visit)
}

// readJSON reads a stream of JSON objects.
func (c *chunk) readJSON(visit func(*Object, error)) error {
	var o Object
	r := newReader(c.data)
	pos := c.pos
	for from, base := 0, 0; ; {
		start := from + leadingSpace(c.data[from:])
		pos = pos.after(c.data[from:start])
		if start == len(c.data) {
			return nil
		}
		o = Object{Meta: &Meta{Pos: pos, src: source{file: c.file, off: c.off + int64(start), pos: pos}}}
		err := o.readHead(r)
		end := base + int(r.InputOffset())
		if _, bad := errors.AsType[*jsontext.SyntacticError](err); bad {
			if end, err = o.readLenient(c.data[start:]); end < 0 {
				return c.breaksOff(pos, c.data[start:], err)
			}
			end += start
			r = newReader(c.data[end:])
			base = end
		} else {
			o.raw = c.data[start:end:end]
		}
		o.setText(c.data[start:end])
		c.visit(visit, &o, err)
		pos = pos.after(c.data[start:end])
		from = end
	}
}

// breaksOff returns the error about text, where the stream of JSON that c is a part of cannot be read any further.
func (c *chunk) breaksOff(pos Pos, text []byte, err error) error {
	if c.more && errors.Is(err, io.ErrUnexpectedEOF) {
		// The splitter took the next brace for the start of an object, which it would be were this one whole.
		_, err = jsontext.NewDecoder(bytes.NewBuffer(append(bytes.Clone(text), '{')), lenient).ReadValue()
	}
	at, err := syntaxError(pos, text, err)
	if c.more {
		text = nil // no one looks at what else is lost
	}
	return c.unreadable(at, text, err)
}

// readLenient reads the object at the start of text, which is not I-JSON, as encoding/json would. It returns the error
// of its head and where it ends, or -1 and a syntax error.
func (o *Object) readLenient(text []byte) (end int, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
	value, err := d.ReadValue()
	if err != nil {
		return -1, err
	}
	o.src.repaired = true
	o.raw = repair(value)
	return int(d.InputOffset()), o.readHead(newReader(o.raw))
}

func (o *Object) setText(text []byte) {
	o.text = text
	o.src.size = len(text)
	o.src.sum = maphash.Bytes(seed, text)
}

// visit passes o on, or err if o is not an object of a catalog.
func (c *chunk) visit(visit func(*Object, error), o *Object, err error) {
	if err != nil {
		pos := o.Pos
		if h, ok := errors.AsType[*headError](err); ok {
			pos = o.Place(h.ptr)
		}
		visit(nil, c.unreadable(pos, o.text, err))
		return
	}
	visit(o, nil)
}

// readYAML reads YAML documents, separated by lines that begin with three hyphens.
func (c *chunk) readYAML(visit func(*Object, error)) {
	buf := buffers.Get()
	defer func() { buffers.Put(buf) }()
	var o Object
	pos, from := c.pos, 0
	if c.off == 0 && bytes.HasPrefix(c.data, byteOrderMark) {
		from = len(byteOrderMark) // and no column
	}
	for from < len(c.data) {
		next := len(c.data)
		if i := bytes.Index(c.data[from:], separatorLine); i >= 0 {
			next = from + i + 1
		}
		text := c.data[from:next]
		start := 0
		if bytes.HasPrefix(text, separatorLine[1:]) {
			start = lineEnd(text)
			if rest := bytes.TrimSpace(text[3:start]); len(rest) > 0 && rest[0] != '#' {
				visit(nil, c.unreadable(pos.at(1, 4), text, errors.New("only a comment may follow --- on its line")))
			}
		}
		at := pos.after(text[:start])
		buf = c.readDocument(&o, text[start:], c.off+int64(from+start), at, buf[:0], visit)
		c.notJSON = nil // only the first document was tried as JSON
		pos = pos.after(text)
		from = next
	}
}

func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// readDocument reads into o one YAML document, which is at off and pos and may be empty. It returns buf, perhaps grown.
func (c *chunk) readDocument(
	o *Object, text []byte, off int64, pos Pos, buf []byte, visit func(*Object, error),
) []byte {
	lead := blankLines(text)
	if lead == len(text) {
		return buf
	}
	first := pos.after(text[:lead])
	if err := noMapping(text[lead:]); err != nil {
		visit(nil, c.unreadable(first, text, err))
		return buf
	}
	raw, block, err := yamljson.Convert(buf, text)
	if errors.Is(err, yamljson.ErrEmpty) {
		return raw
	}
	if err != nil {
		visit(nil, c.yamlError(pos, text, err))
		return buf
	}
	src := source{file: c.file, off: off, pos: pos, yaml: true, block: block}
	*o = Object{Meta: &Meta{Pos: first, src: src}, raw: raw}
	o.setText(text)
	err = o.readHead(newReader(raw))
	if _, bad := errors.AsType[*jsontext.SyntacticError](err); bad { // equal keys
		_, err = o.readLenient(raw)
	}
	c.visit(visit, o, err)
	return raw
}

// yamlError places an error of the YAML reader, or tells what is wrong with the JSON if JSON was meant.
func (c *chunk) yamlError(pos Pos, text []byte, err error) error {
	if c.notJSON != nil && beginsLikeJSON(text) {
		at, err := syntaxError(pos, text, c.notJSON)
		return c.unreadable(at, text, err)
	}
	if y, ok := errors.AsType[*yamljson.Error](err); ok {
		return c.unreadable(pos.at(y.Line, y.Column), text, errors.New(y.Msg))
	}
	return c.unreadable(pos, text, err)
}

// syntaxError places and words an error of the JSON reader in text, which starts at pos.
func syntaxError(pos Pos, text []byte, err error) (Pos, error) {
	if bytes.HasPrefix(text, separatorLine[1:]) {
		return pos, errors.New("YAML in a file that begins with two JSON objects, which is JSON to its end")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		start := pos.after(text[:leadingSpace(text)])
		err := fmt.Errorf("the JSON object that starts at %d:%d does not end", start.Line, start.Column)
		return pos.after(bytes.TrimRight(text, space)), err
	}
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return pos, err
	}
	at := pos.after(text[:min(int(s.ByteOffset), len(text))])
	if s.Err.Error() == "exceeded max depth" { // it has no name
		return at, errors.New("nested deeper than 10,000 levels")
	}
	return at, fmt.Errorf("not valid JSON: %w", s.Err)
}

// beginsLikeJSON tells whether the author of text, which starts with a brace, has likely meant JSON: keys of YAML need
// no quotes.
func beginsLikeJSON(text []byte) bool {
	inside, ok := bytes.CutPrefix(bytes.TrimLeft(text, space), []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(inside, space), []byte(`"`))
}

// space is what may stand between the tokens of JSON.
const space = " \t\r\n"

var byteOrderMark = []byte("\ufeff")

func leadingSpace(text []byte) int {
	return len(text) - len(bytes.TrimLeft(text, space))
}

// blankLines returns how much of text is lines that are empty or hold a comment only.
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
		i += lineEnd(rest)
	}
}

// noMapping tells cheaply that the YAML document text cannot be an object, so that a long list is not parsed to say so.
func noMapping(text []byte) error {
	if text[0] == '[' || text[0] == '-' && (len(text) == 1 || text[1] == ' ' || text[1] == '\n') {
		return noObject('[')
	}
	return nil
}

// mentions finds the names of packages in text that cannot be parsed.
var mentions = regexp.MustCompile(`(?m)["']?\b(?:package|name|packageName)["']?[ \t]*:[ \t]*["']?([^"'\s,}{\]\[]+)`)

// unreadable returns the error about text, which is lost, with a hint where the file does not look like a catalog file.
// Where text is nil, no one knows what is lost.
func (c *chunk) unreadable(pos Pos, text []byte, err error) *Error {
	if !c.file.alone && !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(pos.File)) {
		err = fmt.Errorf("%w (if this is no catalog file, name it in %s)", err, ignoreFile)
	}
	if text == nil {
		return &Error{Pos: pos, Err: err}
	}
	lost := []string{}
	for _, match := range mentions.FindAllSubmatch(text, -1) {
		lost = append(lost, string(match[1]))
	}
	return &Error{Pos: pos, Err: err, Lost: lost}
}
