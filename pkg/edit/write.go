package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A change is what becomes of a file.
type change struct {
	path    string // as the user named it
	file    *os.File
	info    fs.FileInfo
	splices []fileSplice // in the order of their offsets
	order   int          // of replacing several files: those with new objects first, those with fewer last
	deleted bool         // since nothing is left of it
}

// A fileSplice replaces bytes of a file.
type fileSplice struct {
	offset  int64
	old, by []byte
}

func (s fileSplice) end() int64 { return s.offset + int64(len(s.old)) }

// A writer changes files.
type writer struct {
	root    *os.Root // a directory that all of them are in
	names   []string // of the files in it
	isTree  bool     // directories that become empty are removed
	changes []*change
	unlocks []func()
}

// newWriter opens and locks the files of a package that change. Those that changed since they were read are an error.
func (t *target) newWriter(p *pkg) (w *writer, err error) {
	w = &writer{isTree: t.isTree}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, units := range p.files() {
		if err := w.change(units, t.objectsIn(units[0].file)); err != nil {
			return w, err
		}
	}
	if len(w.changes) == 0 {
		return w, nil
	}
	slices.SortStableFunc(w.changes, func(a, b *change) int { return a.order - b.order })
	if err := w.lock(); err != nil {
		return w, err
	}
	return w, t.record.Check()
}

// objectsIn returns how many objects a file of a catalog has.
func (t *target) objectsIn(file string) (n int) {
	for _, m := range t.metas {
		if m.Pos.File == file {
			n++
		}
	}
	return n
}

// change notes what becomes of the file of the units, which has so many objects.
func (w *writer) change(units []*unit, objects int) error {
	c := &change{path: units[0].file}
	var err error
	if c.file, err = os.Open(c.path); err != nil {
		return err
	}
	w.changes = append(w.changes, c)
	if c.info, err = c.file.Stat(); err != nil {
		return err
	}
	removed := 0
	for _, u := range units {
		s := fileSplice{u.offset, u.old, u.now()}
		if len(u.added) > 0 {
			c.order = -1
		}
		if u.removed {
			c.order = 1
			removed++
			if s, err = c.removal(u); err != nil {
				return err
			}
		}
		if k := len(c.splices); k > 0 && s.offset < c.splices[k-1].end() { // the line break between them
			s.old = s.old[c.splices[k-1].end()-s.offset:]
			s.offset = c.splices[k-1].end()
		}
		if !bytes.Equal(s.old, s.by) {
			c.splices = append(c.splices, s)
		}
	}
	c.deleted = removed == objects && removed > 0
	if len(c.splices) == 0 {
		w.changes = w.changes[:len(w.changes)-1]
		return c.file.Close()
	}
	return nil
}

// maxLead is how long what separates two documents may be.
const maxLead = 4096

// removal removes a document, and what separates it from the one before.
func (c *change) removal(u *unit) (fileSplice, error) {
	before := make([]byte, min(u.offset, maxLead))
	if _, err := c.file.ReadAt(before, u.offset-int64(len(before))); err != nil && err != io.EOF {
		return fileSplice{}, err
	}
	keep := len(bytes.TrimRight(before, " \t\r\n"))
	if u.yaml {
		keep = len(before)
		if line := lineStart(before, max(keep-1, 0)); bytes.HasPrefix(before[line:], []byte("---")) {
			keep = line
		}
		if u.offset+int64(len(u.old)) == c.info.Size() && !bytes.HasSuffix(u.old, []byte("\n")) {
			keep = len(bytes.TrimSuffix(bytes.TrimSuffix(before[:keep], []byte("\n")), []byte("\r")))
		}
	}
	lead := before[keep:]
	return fileSplice{u.offset - int64(len(lead)), append(lead, u.old...), nil}, nil
}

// lock locks the files, so that no other edit changes them.
func (w *writer) lock() error {
	var paths []string
	for _, c := range w.changes {
		path, err := filepath.EvalSymlinks(c.path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	dir := filepath.Dir(paths[0])
	for _, path := range paths {
		for !strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)) {
			dir = filepath.Dir(dir)
		}
	}
	var err error
	if w.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	for i, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		w.names = append(w.names, name)
		switch unlock, err := atomicfile.TryLock(w.root, name); {
		case err == nil:
			w.unlocks = append(w.unlocks, unlock)
		case errors.Is(err, atomicfile.ErrLocked), errors.Is(err, fs.ErrNotExist): // by its name, once it was replaced
			return &declcfg.Error{Pos: declcfg.Pos{File: w.changes[i].path}, Err: errBusy}
		case !errors.Is(err, errors.ErrUnsupported):
			return fmt.Errorf("edit %s: %w", w.changes[i].path, err)
		}
	}
	return nil
}

var errBusy = errors.New("another edit is changing the file; run the command again")

// write replaces the files, once all of them are on the disk, and deletes those of which nothing is left. Their order
// lets the same edit be made again by someone whose process was killed in between.
func (w *writer) write() error {
	if len(w.changes) == 0 {
		return nil
	}
	err := atomicfile.Merge(w.root, func(stage *os.Root) error {
		for i, c := range w.changes {
			if c.deleted {
				continue
			}
			name := w.names[i]
			if err := stage.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				return err
			}
			opts := atomicfile.Options{Root: stage, Mode: c.info.Mode().Perm()}
			if err := atomicfile.Write(name, opts, c.copy); err != nil {
				return err
			}
		}
		return nil
	}, w.names...)
	for i, c := range w.changes {
		if c.deleted && err == nil {
			err = w.root.Remove(w.names[i])
			if w.isTree {
				_ = os.Remove(filepath.Dir(c.path)) // which fails if there is something else in it
			}
		}
	}
	return err
}

// copy writes the file as it will be.
func (c *change) copy(to io.Writer) error {
	at := int64(0)
	for _, s := range c.splices {
		if _, err := io.Copy(to, io.NewSectionReader(c.file, at, s.offset-at)); err != nil {
			return err
		}
		if _, err := to.Write(s.by); err != nil {
			return err
		}
		at = s.end()
	}
	_, err := io.Copy(to, io.NewSectionReader(c.file, at, c.info.Size()-at))
	return err
}

// close unlocks and closes the files.
func (w *writer) close() {
	for _, unlock := range w.unlocks {
		unlock()
	}
	for _, c := range w.changes {
		if c.file != nil {
			_ = c.file.Close() // which was only read
		}
	}
	if w.root != nil {
		_ = w.root.Close()
	}
}
