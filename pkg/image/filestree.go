package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// maxLinks is how many symbolic links are followed on the way to a file, as on Linux.
	maxLinks = 40
	// maxSteps is how many names such a way may have, those in the links included.
	maxSteps = 4096
)

var (
	errNotDir = errors.New("not a directory")
	errIsDir  = errors.New("is a directory")
	errLoop   = errors.New("too many symbolic links, or a loop of them")
	errLong   = errors.New("it lies too deep, or the way there is too long")

	errSpecial = errors.New("it is a device or a pipe, which is no file to read from an image")
)

// A node is a file, a directory, a symbolic link or something special, by its mode.
type node struct {
	mode     fs.FileMode
	modTime  time.Time
	data     io.ReaderAt // of a file that is held
	offset   int64       // of the file in data
	size     int64       // of a file
	link     string
	layer    v1.Hash // of a link
	children map[string]*node
}

// newDir returns a directory that no entry describes.
func newDir() *node { return &node{mode: fs.ModeDir | 0o755} }

func (n *node) put(name string, child *node) {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[name] = child
}

// special reports whether n is a device or the like, which has no place among the files of an image.
func (n *node) special() bool { return n.mode&(fs.ModeDevice|fs.ModeNamedPipe) != 0 }

// A tree is the files of an image, as far as they are wanted, and all symbolic links. Paths in it begin at the root of
// the image, without a slash in front.
type tree struct {
	root   *node
	want   *wanted
	budget *budget
	missed []string // names not wanted so far that the files which are wanted depend on
}

// apply puts a layer, of which digest is told in errors, over those applied before.
func (t *tree) apply(ctx context.Context, l *layer, digest v1.Hash) error {
	// Whiteouts hide what is in the layers below, wherever they stand in their own.
	for _, name := range l.opaque {
		if n, _, err := t.follow(name); err == nil && n.mode.IsDir() {
			n.children = nil
		}
	}
	for _, name := range l.hidden {
		if dir, _, err := t.follow(path.Dir(name)); err == nil {
			delete(dir.children, path.Base(name))
		}
	}
	for _, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.node != nil && e.node.link != "" {
			e.node.layer = digest
		}
		if err := t.insert(e); err != nil {
			return fmt.Errorf("entry %s: %w", quoteName(e.name), err)
		}
	}
	return nil
}

// insert puts an entry into the tree, makes the directories above it, and replaces what stands there; a directory only
// adds to one.
func (t *tree) insert(e entry) error {
	n := e.node
	if n == nil {
		var err error
		if n, err = t.hardLinked(e.hard); n == nil {
			return err
		}
	}
	if e.name == "." {
		if !n.mode.IsDir() {
			return errors.New("the root of the image is not a directory")
		}
		t.root.mode, t.root.modTime = n.mode, n.modTime
		return nil
	}
	w := walk{tree: t, make: true}
	dir, _, err := w.to(path.Dir(e.name), true)
	if err == nil && !dir.mode.IsDir() {
		err = errNotDir
	}
	if err != nil {
		return fmt.Errorf("the directory it is in: %w", err)
	}
	base := path.Base(e.name)
	if old := dir.children[base]; old != nil && old.mode.IsDir() && n.mode.IsDir() {
		old.mode, old.modTime = n.mode, n.modTime
		return nil
	}
	dir.put(base, n)
	return nil
}

// hardLinked returns a copy of what a hard link leads to, so that what replaces the one leaves the other as it was. It
// is nil without an error where the target was not held so far.
func (t *tree) hardLinked(target string) (*node, error) {
	w := walk{tree: t, visit: t.miss}
	n, _, err := w.to(target, false)
	if w.missed {
		return nil, nil
	}
	switch {
	case err != nil:
	case n.mode.IsDir():
		err = errIsDir
	case n.special():
		err = errSpecial
	}
	if err != nil {
		return nil, fmt.Errorf("hard link to %s: %w", quoteName(target), err)
	}
	same := *n
	return &same, nil
}

// miss notes that name is needed. It reports whether it was not wanted.
func (t *tree) miss(name string) bool {
	if t.want.within(name) {
		return false
	}
	t.missed = append(t.missed, name)
	return true
}

// follow returns what stands at name and its path without links.
func (t *tree) follow(name string) (*node, string, error) {
	w := walk{tree: t}
	return w.to(name, true)
}

// A walk is one way through a tree. As in a container, links and ".." never lead out of the root.
type walk struct {
	tree   *tree
	make   bool              // directories that are not there
	visit  func(string) bool // is told the name that the tree must know for the walk to be right
	missed bool              // visit returned true
	links  int
}

// to returns what stands at name, and its path without links. Where nothing does, the error is fs.ErrNotExist, and the
// path that of what is missing. Links on the way are followed; a link at the end only where follow is set.
func (w *walk) to(name string, follow bool) (*node, string, error) {
	way, names, rest := []*node{w.tree.root}, []string{}, name
	for steps := 0; rest != ""; steps++ {
		if steps > maxSteps {
			return nil, "", errLong
		}
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		here := way[len(way)-1]
		switch {
		case !here.mode.IsDir():
			return nil, "", errNotDir
		case elem == "" || elem == ".":
			continue
		case elem == "..":
			if len(names) > 0 {
				way, names = way[:len(way)-1], names[:len(names)-1]
			}
			continue
		}
		names = append(names, elem)
		if !w.known(names, rest) {
			return nil, "", fs.ErrNotExist
		}
		next, err := w.step(here, elem)
		if err != nil {
			return nil, path.Join(path.Join(names...), rest), err
		}
		if next.mode.Type() != fs.ModeSymlink || rest == "" && !follow {
			way = append(way, next)
			continue
		}
		if w.links++; w.links > maxLinks {
			return nil, "", fmt.Errorf("%w: the last is of layer %s", errLoop, next.layer)
		}
		names = names[:len(names)-1]
		if path.IsAbs(next.link) {
			way, names = way[:1], names[:0]
		}
		rest = next.link + "/" + rest
	}
	actual := path.Join(append(names, ".")...)
	if w.visit != nil && w.visit(actual) { // dots lead to what was only passed on the way
		w.missed = true
		return nil, "", fs.ErrNotExist
	}
	return way[len(way)-1], actual, nil
}

// known tells visit what comes next on the way, and reports whether the tree can be relied on there.
func (w *walk) known(names []string, rest string) bool {
	if w.visit == nil || w.tree.want.above(path.Join(names...)) && rest != "" {
		return true
	}
	// What follows ".." depends on where the names before it lead.
	rest, _, _ = strings.Cut("/"+rest+"/", "/../")
	if !w.visit(path.Join(path.Join(names...), rest)) {
		return true
	}
	w.missed = true
	return false
}

// step returns the child of a directory.
func (w *walk) step(dir *node, name string) (*node, error) {
	if next := dir.children[name]; next != nil {
		return next, nil
	}
	if !w.make {
		return nil, fs.ErrNotExist
	}
	next := newDir()
	dir.put(name, next)
	return next, w.tree.budget.hold(0) // its name is a part of one that counts
}
