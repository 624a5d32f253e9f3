package bundle

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// maxFileSize is how large a file of a bundle may be. The largest of any published bundle have 2 MB.
const maxFileSize = 64 << 20

// What is left out of a bundle.
var (
	errDirectory = errors.New("a directory: only files in manifests/ and metadata/ themselves belong to a bundle")
	errFurther   = errors.New("a further document: only the first one of a file counts")
)

// readDocument reads the first document of a file. It returns nil where there is none, which it tells. The JSON of the
// document is valid until the next one is read.
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
	if doc.kind != jsonDocument {
		p.converted = doc.json
	}
	if pos, ok := doc.more(); ok {
		p.warn(&declcfg.Error{Pos: pos, Err: errFurther})
	}
	return doc
}

func (p *parser) readDir(name string) []fs.DirEntry {
	entries, err := fs.ReadDir(p.fsys, name)
	if err != nil {
		p.fail(p.inFile(name, withoutPath(err)))
	}
	return entries
}

// readFile returns what a file holds. It reports false where the name leads to no file.
func (p *parser) readFile(name string) ([]byte, bool) {
	info, err := fs.Stat(p.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.warn(p.inFile(name, errors.New("symbolic link to a file that does not exist")))
	case err != nil:
		p.fail(p.inFile(name, withoutPath(err)))
	case !info.Mode().IsRegular():
		p.warn(p.inFile(name, errors.New("not a file")))
	case info.Size() > maxFileSize:
		p.fail(p.inFile(name, tooLarge(info.Size())))
	default:
		text, err := fs.ReadFile(p.fsys, name)
		if err != nil {
			p.fail(p.inFile(name, withoutPath(err)))
		}
		return text, err == nil
	}
	return nil, false
}

// withoutPath returns err without the path that the position says already.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func tooLarge(size int64) error {
	return fmt.Errorf("the file has %d MB, at most %d are read", size>>20, maxFileSize>>20)
}

// readRegular returns what a file holds, nothing for what is no file, and an error for one that is too large.
func readRegular(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, nil
	case info.Size() > maxFileSize:
		return nil, &fs.PathError{Op: "read", Path: name, Err: tooLarge(info.Size())}
	}
	return fs.ReadFile(fsys, name)
}
