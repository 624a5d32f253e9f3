package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxLinks is how many symbolic links are followed on the way to a file.
const maxLinks = 40

var (
	errNotDir = errors.New("not a directory")
	errIsDir  = errors.New("is a directory")
	errLoop   = errors.New("too many symbolic links, or a loop of them")
	errLeaves = errors.New("the symbolic link leads out of the archive")
)

// An FS is the tree of an archive. It implements fs.ReadDirFS, fs.StatFS and fs.ReadLinkFS; Open, Stat and ReadDir
// follow symbolic links within the archive, as os.DirFS does on disk. Its methods may be called at once.
//
// Its regular files implement io.ReaderAt and io.Seeker.
type FS struct {
	data   io.ReaderAt
	closer io.Closer // nil for an archive that is read in place
	root   *node
}

var (
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// A node is a file, a directory or a symbolic link, by its mode.
type node struct {
	mode     fs.FileMode
	modTime  time.Time
	offset   int64 // of a file in the archive
	size     int64 // of a file
	link     string
	children map[string]*node
}

// newDir returns a directory that no entry of the archive describes.
func newDir() *node { return &node{mode: fs.ModeDir | 0o755} }

// insert puts n into the tree, makes the directories above it, and replaces what stands there.
func (f *FS) insert(name string, n *node) error {
	if name == "." {
		if !n.mode.IsDir() {
			return errors.New("the root of the archive is not a directory")
		}
		f.root.mode, f.root.modTime = n.mode, n.modTime
		return nil
	}
	dir := f.root
	parent, base := path.Split(name)
	for elem := range strings.SplitSeq(strings.TrimSuffix(parent, "/"), "/") {
		if elem == "" {
			continue
		}
		next := dir.children[elem]
		if next == nil {
			next = newDir()
			dir.put(elem, next)
		}
		if !next.mode.IsDir() {
			return fmt.Errorf("it lies below %q, which is not a directory", elem)
		}
		dir = next
	}
	if old := dir.children[base]; old != nil && old.mode.IsDir() {
		if !n.mode.IsDir() && len(old.children) > 0 {
			return errors.New("it would replace a directory that is not empty")
		}
		n.children = old.children
	}
	dir.put(base, n)
	return nil
}

func (n *node) put(name string, child *node) {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[name] = child
}

// find returns what stands at a clean name, or nil. It follows no links.
func (f *FS) find(name string) *node {
	n := f.root
	if name == "." {
		return n
	}
	for elem := range strings.SplitSeq(name, "/") {
		if n = n.children[elem]; n == nil {
			return nil
		}
	}
	return n
}

// lookup returns what stands at name. Links on the way are followed; a link at the end only where follow is set.
func (f *FS) lookup(name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	way, rest := []*node{f.root}, name // the directories down to the current one, and what remains of the name
	for links := 0; rest != ""; {
		elem, after, _ := strings.Cut(rest, "/")
		rest = after
		here := way[len(way)-1]
		switch {
		case !here.mode.IsDir():
			return nil, errNotDir
		case elem == "" || elem == ".":
			continue
		case elem == "..":
			if way = way[:len(way)-1]; len(way) == 0 {
				return nil, errLeaves
			}
			continue
		}
		next := here.children[elem]
		if next == nil {
			return nil, fs.ErrNotExist
		}
		if next.mode.Type() != fs.ModeSymlink || after == "" && !follow {
			way = append(way, next)
			continue
		}
		if links++; links > maxLinks {
			return nil, errLoop
		}
		if path.IsAbs(next.link) {
			return nil, errLeaves
		}
		rest = next.link + "/" + after
	}
	return way[len(way)-1], nil
}

// Close lets go of what Open decompressed. The reader given to Open is the caller's to close.
func (f *FS) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Open implements fs.FS.
func (f *FS) Open(name string) (fs.File, error) {
	n, err := f.lookup(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	info := fileInfo{node: n, name: path.Base(name)}
	if n.mode.IsDir() {
		return OpenDir(info, name, n.entries()), nil
	}
	return OpenFile(io.NewSectionReader(f.data, n.offset, n.size), info), nil
}

// Stat implements fs.StatFS.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.info("stat", name, true) }

// Lstat implements fs.ReadLinkFS.
func (f *FS) Lstat(name string) (fs.FileInfo, error) { return f.info("lstat", name, false) }

func (f *FS) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := f.lookup(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return fileInfo{node: n, name: path.Base(name)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := f.lookup(name, true)
	if err == nil && !n.mode.IsDir() {
		err = errNotDir
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return n.entries(), nil
}

// ReadLink implements fs.ReadLinkFS. The target is as the archive has it, and may lead out of it.
func (f *FS) ReadLink(name string) (string, error) {
	n, err := f.lookup(name, false)
	if err == nil && n.mode.Type() != fs.ModeSymlink {
		err = syscall.EINVAL // what the system says of a file that is not a link
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return n.link, nil
}

// entries lists a directory by name.
func (n *node) entries() []fs.DirEntry {
	list := make([]fs.DirEntry, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		list = append(list, fs.FileInfoToDirEntry(fileInfo{node: n.children[name], name: name}))
	}
	return list
}
