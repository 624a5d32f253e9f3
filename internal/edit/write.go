package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A change is the change to one file.
type change struct {
	path    string // as the user wrote it
	file    *os.File
	info    fs.FileInfo
	splices []fileSplice // ordered by offset
	order   int          // the order of files in the edit, such as addsBundle
	deleted bool         // whether to delete the file, because no object remains
	result  *Result      // result of the edit
	below   bool         // in a subdirectory of the catalog, which is removed if it becomes empty
}

type fileSplice struct {
	offset  int64
	old, by []byte
}

func (s fileSplice) end() int64 { return s.offset + int64(len(s.old)) }

// A writer changes and creates the files of an edit.
type writer struct {
	root    *os.Root // a directory that contains all files that change
	paths   []string // paths of these files without symbolic links
	changes []*change
	created map[string][]byte // content of new files, by path
	unlocks []func()
}

// newWriter opens and locks the files that change. It fails if one of them changed since it was read.
func newWriter(plans []*plan) (w *writer, err error) {
	w = &writer{created: map[string][]byte{}}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, p := range plans {
		if p.edited == nil {
			w.created[p.file] = p.content
			continue
		}
		for _, units := range p.edited.files() {
			if err := w.change(p, units); err != nil {
				return w, err
			}
		}
	}
	if len(w.changes) == 0 {
		return w, nil
	}
	if err := w.checkDistinct(); err != nil {
		return w, err
	}
	slices.SortStableFunc(w.changes, func(a, b *change) int { return a.order - b.order })
	if err := w.lock(); err != nil {
		return w, err
	}
	for _, p := range plans {
		if err := p.record.Check(); err != nil {
			return w, err
		}
	}
	return w, nil
}

// checkDistinct returns an error if two of the files are the same, because a catalog has a link to a file of another.
func (w *writer) checkDistinct() error {
	for i, c := range w.changes {
		for _, other := range w.changes[:i] {
			if os.SameFile(c.info, other.info) {
				err := fmt.Errorf("the file is the same as %s; leave out one of the two catalogs", other.path)
				return &declcfg.Error{Pos: declcfg.Pos{File: c.path}, Err: err}
			}
		}
	}
	return nil
}

// objectsIn returns the number of objects in a file of a catalog.
func (t *target) objectsIn(file string) (n int) {
	for _, m := range t.metas {
		if m.Pos.File == file {
			n++
		}
	}
	return n
}

// change adds the change of one file of a plan, given its edited documents.
func (w *writer) change(p *plan, units []*unit) error {
	c := &change{path: units[0].file, result: p.result}
	c.below = p.isTree && filepath.Dir(c.path) != filepath.Clean(p.path)
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
		if u.order < changesObject {
			c.order = min(c.order, u.order)
		}
		if u.removed {
			c.order = max(c.order, u.order)
			removed++
			if s, err = c.removal(u); err != nil {
				return err
			}
		}
		if k := len(c.splices); k > 0 && s.offset < c.splices[k-1].end() { // both include the line break between them
			s.old = s.old[c.splices[k-1].end()-s.offset:]
			s.offset = c.splices[k-1].end()
		}
		if !bytes.Equal(s.old, s.by) {
			c.splices = append(c.splices, s)
		}
	}
	c.deleted = removed > 0 && removed == p.objectsIn(c.path)
	if link, err := os.Lstat(c.path); c.deleted && err == nil && link.Mode().Type() == fs.ModeSymlink {
		err := errors.New("nothing would be left in the file, and it is a link: delete the link, and its target if no " +
			"other catalog needs it")
		return &declcfg.Error{Pos: declcfg.Pos{File: c.path}, Err: err}
	}
	if len(c.splices) == 0 {
		w.changes = w.changes[:len(w.changes)-1]
		return c.file.Close()
	}
	return nil
}

// maxLead is the maximum length of the separator between two documents, in bytes.
const maxLead = 4096

// removal removes a document and the separator before it.
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
	var paths []string // absolute
	for _, c := range w.changes {
		path, err := filepath.EvalSymlinks(c.path)
		if err != nil {
			return err
		}
		w.paths = append(w.paths, path)
		if path, err = filepath.Abs(path); err != nil {
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
		switch unlock, err := atomicfile.TryLock(w.root, name); {
		case err == nil:
			w.unlocks = append(w.unlocks, unlock)
		case errors.Is(err, atomicfile.ErrLocked), errors.Is(err, fs.ErrNotExist): // it was just replaced
			return &declcfg.Error{Pos: declcfg.Pos{File: w.changes[i].path}, Err: errBusy}
		case !errors.Is(err, errors.ErrUnsupported):
			return fmt.Errorf("edit %s: %w", w.changes[i].path, err)
		}
	}
	return nil
}

var errBusy = errors.New("another edit is changing the file; run the command again")

// write creates, replaces and deletes the files after all new versions are on the disk. The order of the files of one
// catalog allows the same edit to be repeated if the process is killed in between. After a failure, all files are as
// they were before, or the error names the backups of files that could not be restored.
func (w *writer) write() error {
	var tx atomicfile.Tx
	defer tx.Close()
	for _, path := range slices.Sorted(maps.Keys(w.created)) {
		if err := tx.Write(path, 0, atomicfile.Text(w.created[path])); err != nil {
			return err
		}
	}
	for i, c := range w.changes {
		var err error
		if c.deleted {
			err = tx.Remove(w.paths[i])
		} else {
			err = tx.Write(w.paths[i], c.info.Mode().Perm(), c.copy)
		}
		if err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, c := range w.changes {
		if c.deleted && c.below {
			_ = os.Remove(filepath.Dir(c.path)) // fails if the directory has other files
		}
	}
	return nil
}

// dirs returns the directories of the files, sorted.
func (w *writer) dirs() []string {
	dirs := map[string]bool{}
	for _, path := range slices.Concat(w.paths, slices.Collect(maps.Keys(w.created))) {
		dirs[filepath.Dir(path)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

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

func (w *writer) close() {
	for _, unlock := range w.unlocks {
		unlock()
	}
	for _, c := range w.changes {
		if c.file != nil {
			_ = c.file.Close() // it was only read
		}
	}
	if w.root != nil {
		_ = w.root.Close()
	}
}
