package render

import (
	"bytes"
	"io"
	"io/fs"
	"time"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// oneFileName is the name used for the file in a oneFile.
const oneFileName = "catalog"

// Text returns a source of one catalog file that is in memory.
func Text(name string, text []byte) declcfg.Source {
	file := oneFile{bytes.NewReader(text), int64(len(text))}
	return declcfg.Source{Name: name, FS: file, File: oneFileName}
}

// A oneFile is a file system with one file, for every name.
type oneFile struct {
	r    io.ReaderAt
	size int64
}

func (f oneFile) Open(name string) (fs.File, error) {
	return openFile{io.NewSectionReader(f.r, 0, f.size), name}, nil
}

// An openFile is an open file of a oneFile, and its info.
type openFile struct {
	*io.SectionReader
	name string
}

func (f openFile) Close() error               { return nil }
func (f openFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f openFile) Name() string               { return f.name }
func (f openFile) Mode() fs.FileMode          { return 0o444 }
func (f openFile) ModTime() time.Time         { return time.Time{} }
func (f openFile) IsDir() bool                { return false }
func (f openFile) Sys() any                   { return nil }
