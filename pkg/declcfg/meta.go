package declcfg

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/regular"
)

// A Meta is the identity and the position of one object of a catalog. It is small enough to be kept for every object of
// the largest catalog. It does not hold the text of the object, which can be read again at any time. Goroutines may
// share a Meta.
type Meta struct {
	Schema  string // never empty
	Package string // "" if the key is missing
	Name    string // "" if the key is missing
	Pos     Pos    // of the object

	src source
}

// A source is the location of the text of an object.
type source struct {
	file     *file // nil for an object that is in no file
	off      int64
	size     int
	start    document.Place // of the first byte of the text, which may be a comment before the object
	sum      uint64
	yaml     bool
	repaired bool // see [document.Document]
}

// Owner returns the name of the package that the object belongs to, or "". For an olm.package it is its own name.
func (m *Meta) Owner() string {
	if m.Schema == SchemaPackage {
		return m.Name
	}
	return m.Package
}

// A Key identifies an object within its catalog. It is comparable.
type Key struct {
	file *file
	off  int64
	meta *Meta // of an object that is in no file
}

// Key returns the key of the object, which is the same for all copies of m.
func (m *Meta) Key() Key {
	if m.src.file == nil {
		return Key{meta: m}
	}
	return Key{file: m.src.file, off: m.src.off}
}

// Read reads the object again, into new memory. It fails if the file has changed since it was first read or no longer
// exists, and for an object that was not read from a file.
func (m *Meta) Read() (*Object, error) {
	var r rereader
	defer r.close()
	o, err := r.read(m, nil)
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// ReadAll reads objects again as [Meta.Read] does, and calls fn with each, in the given order. It keeps a file open for
// as long as the objects are in that file. It returns the first error, of reading or of fn.
func ReadAll(metas []*Meta, fn func(*Object) error) error {
	var r rereader
	defer r.close()
	for _, m := range metas {
		o, err := r.read(m, nil)
		if err != nil {
			return err
		}
		if err := fn(&o); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the object again and decodes it; see [Object.Decode].
func (m *Meta) Decode() (any, error) {
	o, err := m.Read()
	if err != nil {
		return nil, err
	}
	return o.Decode()
}

// Place reads the object again and returns the position of the value at ptr; see [Meta.Places].
func (m *Meta) Place(ptr jsontext.Pointer) Pos { return m.Places([]jsontext.Pointer{ptr})[0] }

// Places reads the object again and returns the positions of the values at ptrs. For a missing value, it is the
// position of the nearest existing value around it. If the object cannot be read, all are the position of the object.
func (m *Meta) Places(ptrs []jsontext.Pointer) []Pos {
	var r rereader
	defer r.close()
	doc, _ := r.document(m, nil)
	return m.placesIn(&doc, ptrs)
}

func (m *Meta) placesIn(doc *document.Document, ptrs []jsontext.Pointer) []Pos {
	places := make([]Pos, len(ptrs))
	for i := range ptrs {
		places[i] = m.Pos
	}
	if doc.Text == nil || !slices.ContainsFunc(ptrs, func(p jsontext.Pointer) bool { return p != "" }) {
		return places
	}
	for i, v := range doc.Find(ptrs...) {
		if ptrs[i] != "" {
			places[i] = m.src.file.pos(v.Place)
		}
	}
	return places
}

var seed = maphash.MakeSeed()

var errNoFile = errors.New("the object is in no file and cannot be read again")

// A rereader reads objects again. It keeps the last file open.
type rereader struct {
	file   *file
	handle openFile
}

// read reads the object of m, perhaps into the memory of buf.
func (r *rereader) read(m *Meta, buf []byte) (Object, error) {
	doc, err := r.document(m, buf)
	if err != nil {
		return Object{}, err
	}
	if err := doc.Load(); err != nil { // it was read before
		return Object{}, &Error{Pos: m.Pos, Err: err}
	}
	return Object{Meta: m, doc: doc}, nil
}

// document reads the text of m, perhaps into the memory of buf.
func (r *rereader) document(m *Meta, buf []byte) (doc document.Document, err error) {
	s := &m.src
	if s.file == nil {
		return doc, &Error{Pos: m.Pos, Err: errNoFile}
	}
	if err := r.open(s.file); err != nil {
		return doc, err
	}
	room := s.size
	if s.yaml && room > document.ChunkSize { // Load puts the JSON behind it
		room += room + room/16
	}
	text := slices.Grow(buf[:0], room)[:s.size]
	n, err := r.handle.ReadAt(text, s.off)
	if err != nil && err != io.EOF {
		return doc, &Error{Pos: m.Pos, Err: fmt.Errorf("read it again: %w", regular.WithoutPath(err))}
	}
	if n < s.size || maphash.Bytes(seed, text) != s.sum {
		return doc, &Error{Pos: m.Pos, Err: ErrChanged}
	}
	return document.Document{Text: text, Offset: s.off, Start: s.start, YAML: s.yaml, Repaired: s.repaired}, nil
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

// A Flaw is a part of an object that is not I-JSON but that upstream accepts.
type Flaw struct {
	Pos Pos
	Key string // the repeated key; "" for text that is not Unicode
}

// Flaws returns the parts of the object that its author may expect to be read otherwise: repeated keys and, in JSON,
// the first byte that is not UTF-8 or the first escape that is half a surrogate pair. It reads only objects with flaws
// again.
func (m *Meta) Flaws() []Flaw {
	if !m.src.repaired {
		return nil
	}
	var r rereader
	defer r.close()
	doc, err := r.document(m, nil)
	if err != nil {
		return nil
	}
	var flaws []Flaw
	for d := range doc.Duplicates() {
		flaws = append(flaws, Flaw{m.src.file.pos(d.Repeat), d.Key})
	}
	if m.src.yaml {
		return flaws
	}
	err = jsontext.NewDecoder(bytes.NewBuffer(doc.Text), jsontext.AllowDuplicateNames(true)).SkipValue()
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		flaws = append(flaws, Flaw{Pos: m.src.file.pos(m.src.start.After(doc.Text[:s.ByteOffset]))})
	}
	return flaws
}
