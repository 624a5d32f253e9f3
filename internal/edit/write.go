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

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A change is the change to one file.
type change struct {
	path    string // as the user wrote it
	dir     string // of the file, without symbolic links
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
	plans   []*plan
	changes []*change
	tx      atomicfile.Tx
}

// newWriter opens and locks the files that change.
func newWriter(plans []*plan) (w *writer, err error) {
	w = &writer{plans: plans}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, p := range plans {
		if p.edited == nil {
			continue
		}
		for _, units := range p.edited.files() {
			if !slices.ContainsFunc(units, (*unit).changed) {
				continue
			}
			if err := w.change(p, units); err != nil {
				return w, err
			}
		}
	}
	slices.SortStableFunc(w.changes, func(a, b *change) int { return a.order - b.order })
	return w, nil
}

// list adds the files to the results.
func (w *writer) list() {
	for _, p := range w.plans {
		if p.edited == nil {
			p.result.Files = append(p.result.Files, File{p.file, Created})
		}
	}
	for _, c := range w.changes {
		change := Changed
		if c.deleted {
			change = Deleted
		}
		c.result.Files = append(c.result.Files, File{c.path, change})
	}
}

// check fails if one of the files of the plans changed since it was read.
func (w *writer) check() error {
	if len(w.changes) == 0 {
		return nil
	}
	for _, p := range w.plans {
		if err := p.record.Check(); err != nil {
			return err
		}
	}
	return nil
}

// open opens and locks the file. It fails if another change has the same file, because a catalog has a link to a file
// of another catalog.
func (w *writer) open(c *change) (err error) {
	if c.info, err = os.Stat(c.path); err != nil {
		return err
	}
	for _, other := range w.changes {
		if os.SameFile(c.info, other.info) {
			err := fmt.Errorf("the file is the same as %s; leave out one of the two catalogs", other.path)
			return &declcfg.Error{Pos: declcfg.Pos{File: c.path}, Err: err}
		}
	}
	file, err := filepath.EvalSymlinks(c.path)
	if err != nil {
		return err
	}
	c.dir = filepath.Dir(file)
	c.file, err = atomicfile.OpenLocked(c.path)
	switch {
	case errors.Is(err, atomicfile.ErrLocked), errors.Is(err, fs.ErrNotExist): // it was just replaced
		return &declcfg.Error{Pos: declcfg.Pos{File: c.path}, Err: errBusy}
	case err != nil:
		return fmt.Errorf("edit %s: %w", c.path, regular.WithoutPath(err))
	}
	w.changes = append(w.changes, c)
	c.info, err = c.file.Stat()
	return err
}

var errBusy = errors.New("another edit is changing the file; run the command again")

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
	err := w.open(c)
	if err != nil {
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
		if line := syntax.LineStart(before, max(keep-1, 0)); bytes.HasPrefix(before[line:], []byte("---")) {
			keep = line
		}
		if u.offset+int64(len(u.old)) == c.info.Size() && !bytes.HasSuffix(u.old, []byte("\n")) {
			keep = len(bytes.TrimSuffix(bytes.TrimSuffix(before[:keep], []byte("\n")), []byte("\r")))
		}
	}
	lead := before[keep:]
	return fileSplice{u.offset - int64(len(lead)), append(lead, u.old...), nil}, nil
}

// write creates, replaces and deletes the files in one transaction, if none has changed since it was read. The order of
// the files of one catalog is the one in which a reader sees them change.
func (w *writer) write() error {
	for _, p := range w.plans {
		if p.edited == nil {
			if err := w.tx.Write(p.file, 0, atomicfile.Text(p.content)); err != nil {
				return err
			}
		}
	}
	for _, c := range w.changes {
		var err error
		if c.deleted {
			err = w.tx.Remove(c.path)
		} else {
			err = w.tx.Write(c.path, c.info.Mode().Perm(), c.copy)
		}
		if err != nil {
			return err
		}
	}
	if err := w.check(); err != nil {
		return err
	}
	if err := w.tx.Commit(); err != nil {
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
	for _, p := range w.plans {
		if p.edited == nil {
			dirs[filepath.Dir(p.file)] = true
		}
	}
	for _, c := range w.changes {
		dirs[c.dir] = true
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
	w.tx.Close()
	for _, c := range w.changes {
		_ = c.file.Close() // it was only read
	}
}
