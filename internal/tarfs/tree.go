package tarfs

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// maxLinks is the maximum number of symbolic links followed to reach a file, as on Linux.
	maxLinks = 40
	// maxSteps is the maximum number of path elements followed to reach a file, including the elements in links.
	maxSteps = 512
)

var (
	errNotDir = errors.New("not a directory")
	errIsDir  = errors.New("is a directory")
	errLoop   = errors.New("too many symbolic links, or a loop of them")
	errLeaves = errors.New("the symbolic link leads out of the archive")
	errLong   = errors.New("the path is too long")
	errDeep   = fmt.Errorf("nested too deeply: at most %d directories are allowed", maxDepth)
)

// A layer is the list of changes that one archive makes to a tree.
type layer struct {
	Layer
	entries []entry // in archive order
	missing int     // number of wanted files that are not yet buffered
}

// An entry is one file, directory, link or whiteout.
type entry struct {
	name  string // clean
	node  *node  // nil for a hard link and a whiteout
	hard  string // the target of a hard link, as in the header
	hides byte   // what the whiteout hides in the layers below
}

func (e *entry) base() string { return path.Base(e.name) }

const (
	hidesNothing = iota + 1
	hidesFile
	hidesContent
)

// A node is a file, a directory, a symbolic link or a special file, according to its mode.
type node struct {
	parent   *node // nil for the root
	name     string
	length   int // of the path
	depth    int // number of directories around it, without the root
	children map[string]*node

	mode    fs.FileMode
	flag    byte // the type in the header
	reached bool // it is wanted, or the target of a wanted link
	modTime time.Time
	link    string
	size    int64
	data    *data  // of a file; hard links share it
	layer   *layer // nil for a directory without an entry
}

// A data is the content of a file.
type data struct {
	io.ReaderAt      // nil until it is buffered
	want        bool // it must be buffered
}

// newDir returns a directory without an entry.
func newDir() *node { return &node{mode: fs.ModeDir | 0o755} }

// path returns the path of n from the root of the tree.
func (n *node) path() string {
	elems := []string{"."}
	for ; n.parent != nil; n = n.parent {
		elems = append(elems, n.name)
	}
	slices.Reverse(elems)
	return path.Join(elems...)
}

// special reports whether n is a device, a pipe or of an unknown type.
func (n *node) special() bool { return n.mode&fs.ModeIrregular != 0 }

func (n *node) specialError() error {
	switch n.flag {
	case tar.TypeChar, tar.TypeBlock:
		return errors.New("it is a device, which is not supported")
	case tar.TypeFifo:
		return errors.New("it is a named pipe, which is not supported")
	}
	return fmt.Errorf("it is of type %q, which is not supported", n.flag)
}

// A tree is the file tree of an archive, or of stacked layers. Paths in it start at the root, without a leading slash.
type tree struct {
	root   *node
	want   []string // the files and directories to buffer
	union  bool     // like a container: links never lead out of the root, and whiteouts hide files
	budget *budget

	followed bool // a symbolic link was followed
}

func newTree(b *budget, want ...string) *tree {
	root := newDir()
	root.length, root.depth = -1, -1 // its children have no leading slash and depth 0
	return &tree{root: root, want: want, budget: b}
}

// wants reports whether name is wanted, or below a wanted directory.
func (t *tree) wants(name string) bool {
	return slices.ContainsFunc(t.want, func(dir string) bool { return isBelow(dir, name) })
}

func isBelow(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// apply puts a layer on top of the layers applied before.
func (t *tree) apply(ctx context.Context, l *layer) error {
	// Whiteouts hide files of the layers below, regardless of their position in the archive.
	for _, e := range l.entries {
		if e.node != nil && e.node.mode.IsDir() {
			t.unlink(e)
		}
		t.hide(e)
	}
	for _, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.hides != 0 {
			continue
		}
		// Errors of entries outside the wanted files do not matter.
		dir, err := t.insert(e)
		if err != nil && (errors.Is(err, ErrLimit) || t.wants(e.name) || t.wants(path.Join(dir.path(), e.base()))) {
			return fmt.Errorf("entry %.200q: %w", e.name, err)
		}
	}
	return nil
}

// unlink removes a link that a directory replaces, so that whiteouts in the directory hide nothing behind the link.
func (t *tree) unlink(e entry) {
	dir, err := t.walk(t.root, path.Dir(e.name), follow)
	if err != nil {
		return
	}
	if old := dir.children[e.base()]; old != nil && old.mode.Type() == fs.ModeSymlink {
		delete(dir.children, e.base())
	}
}

// hide removes the files that a whiteout hides.
func (t *tree) hide(e entry) {
	switch e.hides {
	case hidesFile:
		if dir, err := t.walk(t.root, path.Dir(e.name), follow); err == nil {
			delete(dir.children, e.base())
		}
	case hidesContent:
		if dir, err := t.walk(t.root, e.name, follow); err == nil {
			dir.children = nil
		}
	}
}

// insert adds an entry to the tree with the directories above it. It replaces an existing node, but only updates an
// existing directory if the entry is a directory. It returns the directory of the entry or, with an error, the last one
// reached.
func (t *tree) insert(e entry) (*node, error) {
	dir, err := t.walk(t.root, path.Dir(e.name), create)
	if err == nil && !dir.mode.IsDir() {
		err = errNotDir
	}
	if err != nil {
		return dir, fmt.Errorf("parent directory %.200q: %w", path.Dir(e.name), err)
	}
	n := e.node
	if n == nil {
		if n, err = t.hardLink(e.hard); err != nil {
			return dir, fmt.Errorf("hard link to %.200q: %w", e.hard, err)
		}
	}
	old := dir.children[e.base()]
	if e.name == "." {
		old = t.root
	}
	if old != nil && old.mode.IsDir() {
		switch {
		case n.mode.IsDir():
			old.mode, old.modTime = n.mode, n.modTime
			return dir, nil
		case old == t.root:
			return dir, errors.New("the root is not a directory")
		case !t.union && len(old.children) > 0:
			return dir, errors.New("it would replace a directory that is not empty")
		}
	}
	return dir, t.put(dir, e.base(), n)
}

func (t *tree) put(dir *node, name string, n *node) error {
	n.parent, n.name = dir, name
	n.length, n.depth = dir.length+1+len(name), dir.depth+1
	switch {
	case n.length > maxPath:
		return errLong
	case n.depth > maxDepth:
		return errDeep
	}
	if dir.children == nil {
		dir.children = map[string]*node{}
	}
	dir.children[name] = n
	return nil
}

// hardLink returns a copy of the target of a hard link, so that replacing one does not change the other.
func (t *tree) hardLink(target string) (*node, error) {
	name, err := CleanName(target)
	if err != nil {
		return nil, err
	}
	n, err := t.walk(t.root, name, noFollow)
	if err == nil && n.mode.IsDir() {
		err = errIsDir
	}
	if err != nil {
		return nil, err
	}
	same := *n
	return &same, nil
}

// A walkMode selects the behaviour of walk.
type walkMode int

const (
	noFollow walkMode = iota // do not follow a link at the end
	follow
	create // follow, and create missing directories
)

// walk returns the node at name, relative to a directory. With an error, it returns the last node reached.
func (t *tree) walk(here *node, name string, mode walkMode) (*node, error) {
	rest, links := name, 0
	for steps := 0; rest != ""; steps++ {
		if steps > maxSteps {
			return here, errLong
		}
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		switch {
		case !here.mode.IsDir():
			return here, errNotDir
		case elem == "" || elem == ".":
			continue
		case elem == ".." && here.parent != nil:
			here = here.parent
			continue
		case elem == ".." && t.union:
			continue
		case elem == "..":
			return here, errLeaves
		}
		next, err := t.step(here, elem, mode)
		if err != nil {
			return here, err
		}
		if next.mode.Type() != fs.ModeSymlink || rest == "" && mode == noFollow {
			here = next
			continue
		}
		t.followed = true
		if links++; links > maxLinks {
			return here, next.loopError()
		}
		switch {
		case mode == create && !t.union: // like tar, which does not write through links
			return here, errNotDir
		case path.IsAbs(next.link) && !t.union:
			return here, errLeaves
		case path.IsAbs(next.link):
			here = t.root
		}
		rest = next.link + "/" + rest
	}
	return here, nil
}

// step returns a child of a directory.
func (t *tree) step(dir *node, name string, mode walkMode) (*node, error) {
	if next := dir.children[name]; next != nil {
		return next, nil
	}
	if mode != create {
		return nil, fs.ErrNotExist
	}
	next := newDir()
	if err := t.put(dir, name, next); err != nil {
		return nil, err
	}
	return next, t.budget.add(0) // its name is a part of a name that was counted
}

func (n *node) loopError() error {
	if n.layer == nil || n.layer.Name == "" {
		return errLoop
	}
	return fmt.Errorf("%w: the last is of layer %s", errLoop, n.layer.Name)
}

// reach marks everything that can be reached from the names: the nodes themselves, everything below them, and the
// targets of links there. It marks the files among them as wanted. It ignores devices below /dev, where container
// engines put their own; elsewhere they are errors.
func (t *tree) reach(names []string) error {
	var todo []*node
	add := func(n *node, err error) {
		if err == nil && !n.reached { // links may be dangling
			n.reached = true
			todo = append(todo, n)
		}
	}
	for _, name := range names {
		add(t.walk(t.root, name, noFollow))
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case n.mode.IsDir():
			for _, name := range slices.Sorted(maps.Keys(n.children)) {
				add(n.children[name], nil)
			}
		case n.mode.Type() == fs.ModeSymlink:
			add(t.walk(n.parent, n.name, follow))
		case n.special() && !isBelow("dev", n.path()):
			return layerError(n.layer, fmt.Errorf("entry %.200q: %w", n.path(), n.specialError()))
		case n.data != nil && !n.data.want:
			n.data.want = true
			n.layer.missing++
		}
	}
	// The directories above the names are listed, too.
	for _, name := range names {
		for n, err := t.walk(t.root, name, noFollow); err == nil && n != nil; n = n.parent {
			n.reached = true
		}
	}
	return nil
}
