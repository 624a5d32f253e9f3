package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

	documents "github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// maxFileSize is the maximum size of a file of a bundle, in bytes. The largest files of published bundles have 2 MB.
const maxFileSize = 64 << 20

// Reasons for which a part of a bundle is ignored.
var (
	errDirectory     = errors.New("a directory: only files in manifests/ and metadata/ themselves belong to a bundle")
	errMoreDocuments = errors.New("a further document: only the first one of a file counts")
)

// A document is the first document of a file. opm ignores the documents after it.
type document struct {
	*documents.Document
	file string // for positions
	json jsontext.Value
	more *documents.Place // the first content after the document; nil if there is none
}

// readDocument reads the first document of a file. The JSON of YAML is appended to buf.
func readDocument(file string, text, buf []byte) (*document, *declcfg.Error) {
	doc, further, err := documents.First(text, buf)
	if err != nil {
		failure, _ := errors.AsType[*documents.Error](err) // nothing else is returned
		return nil, failure.In(file)
	}
	return &document{doc, file, doc.JSON, further}, nil
}

// retain makes the positions in a document valid even after the next document is read. Its JSON is not retained.
func (d *document) retain() { d.Text = bytes.Clone(d.Text) }

// continuation returns the position of the first content after the document, other than comments and separators, and
// whether there is any.
func (d *document) continuation() (declcfg.Pos, bool) {
	if d.more == nil {
		return declcfg.Pos{}, false
	}
	return d.more.Pos(d.file), true
}

// pos returns the position of the value at ptr, or of the nearest value around it.
func (d *document) pos(ptr jsontext.Pointer) declcfg.Pos { return d.Find(ptr)[0].Place.Pos(d.file) }

// errorIn returns an error about the value at ptr.
func (d *document) errorIn(ptr jsontext.Pointer, err error) *declcfg.Error {
	return &declcfg.Error{Pos: d.pos(ptr), Pointer: ptr, Err: err}
}

// repeatedKeys returns an error for every key that an object has twice, at the repetition. The last value counts.
func (d *document) repeatedKeys() (errs []*declcfg.Error) {
	if !d.Repaired && d.JSON.IsValid() { // the JSON of block-style YAML has all keys
		return nil
	}
	for k := range d.Duplicates() {
		err := fmt.Errorf("key %q is already defined at %s: the last value is used", k.Key, k.First.Pos(d.file))
		errs = append(errs, &declcfg.Error{Pos: k.Repeat.Pos(d.file), Err: err})
	}
	return errs
}

// readDocument reads the first document of a file. If there is none, it reports the error and returns nil. The document
// is valid until the next one is read, see retain.
func (p *parser) readDocument(name string) *document {
	text, ok := p.readFile(name)
	if !ok {
		return nil
	}
	doc, err := readDocument(p.label(name), text, p.converted[:0])
	if err != nil {
		p.warn(err)
		return nil
	}
	if doc.YAML {
		p.converted = doc.json
	}
	if pos, ok := doc.continuation(); ok {
		p.warn(&declcfg.Error{Pos: pos, Err: errMoreDocuments})
	}
	return doc
}

func (p *parser) readDir(name string) []fs.DirEntry {
	entries, err := fs.ReadDir(p.fsys, name)
	if err != nil {
		p.fail(p.inFile(name, regular.WithoutPath(err)))
	}
	return entries
}

// readFile returns the content of a file, valid until the next one is read. It returns false if there is no such file.
func (p *parser) readFile(name string) ([]byte, bool) {
	text, err := regular.ReadFileIn(p.text, p.fsys, name, maxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.warn(p.inFile(name, errors.New("symbolic link to a file that does not exist")))
	case errors.Is(err, regular.ErrNotRegular):
		p.warn(p.inFile(name, regular.WithoutPath(err)))
	case err != nil:
		p.fail(p.inFile(name, regular.WithoutPath(err)))
	}
	if err == nil {
		p.text = text
	}
	return text, err == nil
}

// readRegular returns the content of a file, nil for a directory or a device, and an error for a file that is too
// large.
func readRegular(fsys fs.FS, name string) ([]byte, error) {
	text, err := regular.ReadFile(fsys, name, maxFileSize)
	if errors.Is(err, regular.ErrNotRegular) {
		return nil, nil
	}
	return text, err
}
