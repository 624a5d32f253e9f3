package declcfg

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/position"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// A Meta is one object of a catalog: its schema, what it belongs to, where it stands, and its text, which is read again
// when it is needed and not held. Typed values are views on it.
type Meta struct {
	Schema  string // never empty
	Package string // "" where the key is missing
	Name    string // "" where the key is missing
	Pos     Pos    // where the object starts

	src  *source        // nil for an object that stands in no file
	raw  jsontext.Value // the object, while it is held
	text []byte         // the document as it stands in the file, while it is held
	rest *draft         // what readHead found, while raw is held
	kept bool           // raw and text are not dropped
}

// A source tells where the text of an object stands.
type source struct {
	file *file
	off  int64
	size int
	pos  Pos // of the first byte of the text, which may be a comment before the object
	sum  uint64
	yaml bool

	// block tells that the YAML is in the block style in which places are quickly found; see [position.Block].
	block bool

	// repaired tells that the object is not I-JSON: equal keys, of which the last wins, or bytes that are no UTF-8,
	// which were replaced.
	repaired bool
}

// NewMeta returns the object raw, which must be a JSON object with a non-empty text under schema. It is held in memory
// and stands at pos.
func NewMeta(pos Pos, raw jsontext.Value) (*Meta, error) {
	m := &Meta{Pos: pos, raw: raw, text: raw, kept: true}
	r := newReader(raw)
	_, err := m.readHead(r)
	if err == nil && r.SkipValue() != io.EOF {
		err = errors.New("want one object, found more behind it")
	}
	if err != nil {
		return nil, &Error{Pos: pos, Err: err}
	}
	return m, nil
}

// Owner returns the name of the package that m belongs to, "" for none: of an olm.package that is its own name.
func (m *Meta) Owner() string {
	if m.Schema == SchemaPackage {
		return m.Name
	}
	return m.Package
}

// JSON returns the object as JSON, valid and without equal keys, in the order and spelling of its author. The caller
// may not change it. It fails when the file changed since it was read first, or is gone.
func (m *Meta) JSON() (jsontext.Value, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	raw, _, err := m.load()
	return raw, err
}

// Hold keeps the object in memory, also beyond the function that it was given to.
func (m *Meta) Hold() {
	if !m.kept {
		m.raw, m.text, m.rest, m.kept = bytes.Clone(m.raw), bytes.Clone(m.text), nil, true
	}
}

// drop forgets the text of m, since its memory will be used again.
func (m *Meta) drop() {
	if !m.kept {
		m.raw, m.text, m.rest = nil, nil, nil
	}
}

var seed = maphash.MakeSeed()

var errChanged = errors.New("the file changed while it was being read")

// load reads m again, if it stands in a file.
func (m *Meta) load() (raw jsontext.Value, text []byte, err error) {
	var r rereader
	defer r.close()
	return r.load(m, nil)
}

// A rereader reads objects again. It keeps the file of the last one open.
type rereader struct {
	file   *file
	handle readerAtCloser
}

// load returns m as JSON and as it stands in the file. It may use the memory of buf for both.
func (r *rereader) load(m *Meta, buf []byte) (raw jsontext.Value, text []byte, err error) {
	if m.src == nil || m.raw != nil {
		return m.raw, m.text, nil
	}
	if err := r.open(m.src.file); err != nil {
		return nil, nil, err
	}
	s := m.src
	text = slices.Grow(buf[:0], s.size)[:s.size]
	n, err := r.handle.ReadAt(text, s.off)
	if err != nil && err != io.EOF {
		return nil, nil, &Error{Pos: m.Pos, Err: fmt.Errorf("read it again: %w", withoutPath(err))}
	}
	if n < s.size || maphash.Bytes(seed, text) != s.sum {
		return nil, nil, &Error{Pos: m.Pos, Err: errChanged}
	}
	raw = text
	if s.yaml {
		both, err := yamljson.Append(text, text)
		if err != nil { // it was read before
			return nil, nil, &Error{Pos: m.Pos, Err: err}
		}
		text, raw = both[:s.size], both[s.size:]
	}
	if s.repaired {
		raw = repair(raw)
	}
	return raw, text, nil
}

func (r *rereader) open(f *file) (err error) {
	if r.file == f {
		return nil
	}
	r.close()
	if r.handle, _, err = f.open(); err == nil {
		r.file = f
	}
	return err
}

func (r *rereader) close() {
	if r.file != nil {
		r.handle.Close()
		r.file = nil
	}
}

// repair returns raw as upstream reads it: of equal keys the last is kept, and what is no UTF-8 is replaced.
func repair(raw []byte) jsontext.Value {
	if !utf8.Valid(raw) {
		raw = []byte(string([]rune(string(raw))))
	}
	return format.AppendCompact(nil, raw)
}

// Place returns where the value at ptr stands, or the nearest value around it that there is.
func (m *Meta) Place(ptr jsontext.Pointer) Pos { return m.Places([]jsontext.Pointer{ptr})[0] }

// Places returns where the values at ptrs stand; see [Meta.Place]. It reads the object once.
func (m *Meta) Places(ptrs []jsontext.Pointer) []Pos {
	places := make([]Pos, len(ptrs))
	doc, _ := m.document()
	for i, ptr := range ptrs {
		places[i] = m.Pos
		if doc == nil || ptr == "" {
			continue
		}
		if p, ok := doc.Value(ptr); ok || p.Line > 0 {
			places[i] = m.src.pos.at(p.Line, p.Column)
		}
	}
	return places
}

// document parses the text of m for places. It is nil where there is no text.
func (m *Meta) document() (*position.Document, []byte) {
	if m.src == nil {
		return nil, nil
	}
	text := m.text
	if text == nil {
		var err error
		if _, text, err = m.load(); err != nil {
			return nil, nil
		}
	}
	if m.src.block {
		return position.Block(text), text
	}
	parse := position.JSON
	if m.src.yaml {
		parse = position.YAML
	}
	doc, err := parse(text)
	if err != nil {
		return nil, text
	}
	return doc, text
}

// A Flaw is a part of an object that is not I-JSON, which upstream reads all the same.
type Flaw struct {
	Pos Pos
	Key string // that repeats one of its object, "" for text that is not Unicode
}

// Flaws returns what of m is read in a way that its author may not expect: keys that repeat one of the same object, and
// in JSON the first byte that is no UTF-8, or the first escape that is half a surrogate pair.
func (m *Meta) Flaws() []Flaw {
	if m.src == nil || !m.src.repaired {
		return nil
	}
	var flaws []Flaw
	doc, text := m.document()
	if doc != nil {
		for _, d := range doc.Duplicates() {
			flaws = append(flaws, Flaw{m.src.pos.at(d.Repeat.Line, d.Repeat.Column), d.Key})
		}
	}
	if m.src.yaml {
		return flaws
	}
	err := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)).SkipValue()
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		flaws = append(flaws, Flaw{Pos: m.src.pos.after(text[:s.ByteOffset])})
	}
	return flaws
}
