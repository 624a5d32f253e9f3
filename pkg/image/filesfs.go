package image

import (
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/opm-toolchain/opm/internal/archive"
)

// An imageFS is a directory of a tree.
type imageFS struct {
	tree  *tree
	dir   string   // its path, without links
	names []string // the paths that links may call it by
}

var (
	_ fs.ReadDirFS  = (*imageFS)(nil)
	_ fs.StatFS     = (*imageFS)(nil)
	_ fs.ReadLinkFS = (*imageFS)(nil)
)

// lookup returns what stands at name.
func (f *imageFS) lookup(op, name string, follow bool) (*node, error) {
	n, err := f.find(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

func (f *imageFS) find(name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	w := walk{tree: f.tree}
	n, _, err := w.to(path.Join(f.dir, name), follow)
	if err == nil && n.special() {
		return nil, fs.ErrNotExist
	}
	return n, err
}

// Open implements fs.FS.
func (f *imageFS) Open(name string) (fs.File, error) {
	n, err := f.lookup("open", name, true)
	if err != nil {
		return nil, err
	}
	info := fileInfo{node: n, name: path.Base(name)}
	if n.mode.IsDir() {
		return archive.OpenDir(info, name, n.list()), nil
	}
	return archive.OpenFile(io.NewSectionReader(n.content(), n.offset, n.size), info), nil
}

// Stat implements fs.StatFS.
func (f *imageFS) Stat(name string) (fs.FileInfo, error) { return f.info("stat", name, true) }

// Lstat implements fs.ReadLinkFS.
func (f *imageFS) Lstat(name string) (fs.FileInfo, error) { return f.info("lstat", name, false) }

func (f *imageFS) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := f.lookup(op, name, follow)
	if err != nil {
		return nil, err
	}
	return fileInfo{node: n, name: path.Base(name)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *imageFS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := f.lookup("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return n.list(), nil
}

// ReadLink implements fs.ReadLinkFS. The target is as the image has it, but that an absolute one below the directory is
// given as seen from the link, since nothing is absolute in an fs.FS.
func (f *imageFS) ReadLink(name string) (string, error) {
	n, err := f.lookup("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.mode.Type() != fs.ModeSymlink {
		// What the system says of a file that is not a link.
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	if !path.IsAbs(n.link) {
		return n.link, nil
	}
	for _, dir := range f.names {
		if target, ok := inside(dir, strings.TrimPrefix(path.Clean(n.link), "/")); ok {
			return strings.Repeat("../", strings.Count(name, "/")) + target, nil
		}
	}
	return n.link, nil
}

// list returns what is in a directory by name, without what is special.
func (n *node) list() []fs.DirEntry {
	list := make([]fs.DirEntry, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		if child := n.children[name]; !child.special() {
			list = append(list, fs.FileInfoToDirEntry(fileInfo{node: child, name: name}))
		}
	}
	return list
}

// content returns what a file is a section of.
func (n *node) content() io.ReaderAt {
	if n.data == nil {
		return strings.NewReader("")
	}
	return n.data
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
