package archive

import (
	"io"
	"io/fs"
	"time"
)

// OpenFile returns an open regular file with the content of r.
func OpenFile(r *io.SectionReader, info fs.FileInfo) fs.File { return &file{r, info} }

// OpenDir returns an open directory with these entries. Errors call it path.
func OpenDir(info fs.FileInfo, path string, entries []fs.DirEntry) fs.ReadDirFile {
	return &dir{info: info, path: path, rest: entries}
}

// A file is an open regular file.
type file struct {
	*io.SectionReader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// A dir is an open directory.
type dir struct {
	info fs.FileInfo
	path string
	rest []fs.DirEntry
}

func (d *dir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dir) Close() error               { return nil }

func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDir}
}

// ReadDir implements fs.ReadDirFile.
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.rest) {
		if n > 0 && len(d.rest) == 0 {
			return nil, io.EOF
		}
		n = len(d.rest)
	}
	list := d.rest[:n:n]
	d.rest = d.rest[n:]
	return list, nil
}

// fileInfo is a node under the name that it was reached by.
type fileInfo struct {
	node *node
	name string
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.node.size }
func (i fileInfo) Mode() fs.FileMode  { return i.node.mode }
func (i fileInfo) ModTime() time.Time { return i.node.modTime }
func (i fileInfo) IsDir() bool        { return i.node.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
