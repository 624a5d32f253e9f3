package tarfs

import (
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An FS is a directory of an archive or of a union. It implements fs.ReadDirFS, fs.StatFS and fs.ReadLinkFS. Open, Stat
// and ReadDir follow symbolic links: in an archive, like os.DirFS on disk, but never out of the archive; in a union,
// like a container. Its methods are safe for concurrent use.
//
// Its regular files implement io.ReaderAt and io.Seeker.
type FS struct {
	tree   *tree
	dir    *node
	given  string    // the requested path of dir, which may lead through links
	closer io.Closer // nil for an archive that is read in place
}

var (
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// Close releases the buffered files. It does not close the reader that was passed to Open.
func (f *FS) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Open implements fs.FS.
func (f *FS) Open(name string) (fs.File, error) {
	n, err := f.lookup("open", name, follow)
	if err != nil {
		return nil, err
	}
	info := fileInfo{node: n, name: path.Base(name)}
	if n.mode.IsDir() {
		return &openDir{info: info, path: name, rest: n.list()}, nil
	}
	return &openFile{io.NewSectionReader(n.data, 0, n.size), info}, nil
}

// lookup returns the node at name.
func (f *FS) lookup(op, name string, mode walkMode) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n, err := f.tree.walk(f.dir, name, mode)
	if err == nil && !n.listed() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

// Stat implements fs.StatFS.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.info("stat", name, follow) }

// Lstat implements fs.ReadLinkFS.
func (f *FS) Lstat(name string) (fs.FileInfo, error) { return f.info("lstat", name, noFollow) }

func (f *FS) info(op, name string, mode walkMode) (fs.FileInfo, error) {
	n, err := f.lookup(op, name, mode)
	if err != nil {
		return nil, err
	}
	return fileInfo{node: n, name: path.Base(name)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := f.lookup("readdir", name, follow)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return n.list(), nil
}

// ReadLink implements fs.ReadLinkFS. It returns the target as in the archive, with one exception: an absolute target in
// a union, if it is below the directory, is returned relative to the link, because an fs.FS has no absolute paths.
func (f *FS) ReadLink(name string) (string, error) {
	n, err := f.lookup("readlink", name, noFollow)
	if err != nil {
		return "", err
	}
	if n.mode.Type() != fs.ModeSymlink {
		// The system's error for a file that is not a link.
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	if !f.tree.union || !path.IsAbs(n.link) {
		return n.link, nil
	}
	target := path.Join(".", path.Clean(n.link))
	for _, dir := range []string{f.dir.path(), f.given} {
		if !isBelow(dir, target) {
			continue
		}
		if dir != "." {
			target = path.Join(".", target[len(dir):])
		}
		return strings.Repeat("../", strings.Count(name, "/")) + target, nil
	}
	return n.link, nil
}

// listed reports whether directories list n: it was reached, and is not a device or a pipe.
func (n *node) listed() bool { return n.reached && !n.special() }

// list returns the entries of a directory, sorted by name.
func (n *node) list() []fs.DirEntry {
	list := make([]fs.DirEntry, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		if child := n.children[name]; child.listed() {
			list = append(list, fs.FileInfoToDirEntry(fileInfo{node: child, name: name}))
		}
	}
	return list
}

// An openFile is an open regular file.
type openFile struct {
	*io.SectionReader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// An openDir is an open directory.
type openDir struct {
	info fs.FileInfo
	path string
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDir}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
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

// fileInfo is a node with the name that it was reached by.
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
