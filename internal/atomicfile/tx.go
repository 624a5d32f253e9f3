package atomicfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Tx is a transaction: it writes and removes files, all of them or none. The zero value is ready to use.
//
//	var tx atomicfile.Tx
//	defer tx.Close()
//	err := errors.Join(tx.Write("catalog/kiln.yaml", 0, fill), tx.Remove("catalog/loom.yaml"))
//	… // read tx.FS("catalog"), the future content of the directory
//	err = tx.Commit()
//
// The files may be in several directories and on several file systems. They change in these steps:
//
//  1. Stage: [Tx.Write] writes each new file, completely on disk, under a temporary name. It is in the directory of the
//     file or, if there is none, in the nearest existing parent.
//  2. Validate: [Tx.FS] shows the staged files in place of the existing ones.
//  3. Back up: [Tx.Commit] links or copies each existing file to a temporary directory next to it.
//  4. Journal: each directory gets a file with its changes and the paths of all directories of the transaction. The
//     journal of the first one, the main journal, is written last, and starts the commit. If one file changes in an
//     existing directory, step 5 is the commit, and there is no journal.
//  5. Change: missing directories are created, and files are renamed and removed in the order of the calls.
//  6. Commit: the main journal is removed, and then everything else that is temporary.
//
// Readers see the old files until step 5. From then on, each file is the old or the new one, or is gone if it is to be
// removed; the files before it in the order are changed. From step 6 on, all files are new.
//
// After a failure, everything is as it was before. If the process is killed, the next command that writes to one of the
// directories removes the temporary files. If there is a main journal, it first rolls back all files, in all
// directories. A file that another process changed after step 5 is not rolled back. The backup of a file that cannot be
// rolled back stays: the error names it, and so does [RemoveStale] until it is deleted.
type Tx struct {
	// Root is the directory that paths are relative to, as in [Options]. All temporary files are in it, and not in the
	// directories below.
	Root *os.Root

	// DryRun stages files in the temporary directory of the system. Commit then does nothing.
	DryRun bool

	mu      sync.Mutex
	changes []*change
}

// A change is a file that a transaction writes or removes.
type change struct {
	*file  // without a temporary file if the file is removed
	remove bool
	entry  *entry
	unlock func() // unlocks the backup
}

// Write stages a file with the content that fill writes. It replaces an existing file, and an earlier staged file of
// the same path. Links are followed, as by the function Write without Stream; for mode, see [Options]. An error from
// fill is returned unchanged. Calls may run at once.
func (t *Tx) Write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	target, err := t.find(path)
	if err != nil {
		return pathError("create", path, err)
	}
	f, err := target.begin(path, Options{Replace: true, Mode: mode})
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.finish()
	}
	if err != nil {
		f.abort()
		return err
	}
	t.add(&change{file: f})
	return nil
}

// Remove stages the removal of a file. A link is not followed: Commit does not remove it.
func (t *Tx) Remove(path string) error {
	root, err := t.open(filepath.Dir(path))
	var found target
	if err == nil {
		found, err = t.inRoot(target{root: root, name: filepath.Base(path)})
	}
	if err != nil {
		return pathError("remove", path, err)
	}
	t.add(&change{file: &file{path: path, root: found.root, name: found.name}, remove: true})
	return nil
}

func (t *Tx) add(c *change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.changes, func(other *change) bool { return other.path == c.path }); i >= 0 {
		t.changes[i].end()
		t.changes[i] = c
		return
	}
	t.changes = append(t.changes, c)
}

// Select keeps the changes of these paths, in this order, and drops all others.
func (t *Tx) Select(paths ...string) {
	place := func(c *change) int { return slices.Index(paths, c.path) }
	t.changes = slices.DeleteFunc(t.changes, func(c *change) bool {
		if place(c) >= 0 {
			return false
		}
		c.end()
		return true
	})
	slices.SortFunc(t.changes, func(a, b *change) int { return place(a) - place(b) })
}

// Close removes the staged files. After Commit it does nothing, so it can be deferred.
func (t *Tx) Close() { t.Select() }

func (t *Tx) open(dir string) (*os.Root, error) {
	if t.Root != nil {
		return t.Root.OpenRoot(dir)
	}
	return os.OpenRoot(dir)
}

// find returns the target of a path. If its directory does not exist, the name includes the missing directories.
func (t *Tx) find(path string) (target, error) {
	if t.DryRun {
		root, err := os.OpenRoot(os.TempDir())
		return target{root: root}, err
	}
	found, missing := find(path, Options{Replace: true, Root: t.Root})
	if missing == nil {
		return t.inRoot(found)
	}
	if !errors.Is(missing, fs.ErrNotExist) {
		return found, missing
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		root, err := t.open(dir)
		switch {
		case err == nil && dir == filepath.Dir(path): // the path is a link to a missing directory
			return target{}, errors.Join(missing, root.Close())
		case err == nil:
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return target{}, errors.Join(err, root.Close())
			}
			return t.inRoot(target{root: root, name: name})
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return target{}, err
		}
	}
}

// inRoot makes the name of a target relative to Root, if there is one.
func (t *Tx) inRoot(found target) (target, error) {
	if t.Root == nil {
		return found, nil
	}
	dir, err := filepath.Rel(t.Root.Name(), found.root.Name())
	if err = errors.Join(err, found.root.Close()); err != nil {
		return target{}, err
	}
	found.name = filepath.Join(dir, found.name)
	found.root, err = t.Root.OpenRoot(".")
	return found, err
}

// Commit makes the staged changes, and closes the transaction.
func (t *Tx) Commit() error {
	if t.DryRun {
		return nil
	}
	defer t.Close()
	parts, err := t.prepare()
	for _, step := range []func(*change) error{(*change).makeDir, (*change).apply} {
		for _, c := range t.changes {
			if err == nil {
				err = c.failed(step(c))
			}
		}
	}
	if err == nil {
		err = removeMain(parts)
	}
	if err == nil {
		removeJournals(parts)
		return nil
	}
	for _, p := range slices.Backward(parts) {
		_, failed := p.undo(p.root)
		err = errors.Join(err, failed)
	}
	_ = removeMain(parts) // what it would roll back is rolled back
	removeJournals(parts)
	return err
}

// failed adds the operation and the path to an error.
func (c *change) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case c.remove:
		return pathError("remove", c.path, err)
	}
	return pathError("create", c.path, err)
}

// prepare makes the backups and writes the journals.
func (t *Tx) prepare() (parts []*part, err error) {
	for _, c := range t.changes {
		if err := c.backUp(); err != nil {
			return nil, c.failed(err)
		}
		info, infoErr := c.root.Stat(".")
		dir, err := realPath(c.root.Name())
		if err = cmp.Or(infoErr, err); err != nil {
			return nil, c.failed(err)
		}
		// A directory may have several paths: by mounts, or on a file system that ignores case.
		i := slices.IndexFunc(parts, func(p *part) bool { return os.SameFile(p.info, info) })
		if i < 0 {
			i, parts = len(parts), append(parts, &part{root: c.root, info: info, dir: dir})
		}
		parts[i].Files = append(parts[i].Files, c.entry)
	}
	if len(t.changes) == 0 || len(t.changes) == 1 && filepath.Dir(t.changes[0].name) == "." {
		return parts, nil
	}
	return parts, writeJournals(parts)
}

// backUp makes the entry of the journal and, if the file exists, its backup: a link or, if the file system has no
// links, a copy. The file keeps its name, so that it is not lost if the process is killed.
func (c *change) backUp() error {
	c.entry = &entry{Name: escaped(c.name)}
	if !c.remove {
		staged, err := c.root.Lstat(c.tmp)
		if err != nil {
			return err
		}
		c.entry.Size, c.entry.Time = staged.Size(), staged.ModTime()
	}
	info, err := c.root.Lstat(c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.remove:
		c.entry.NewDirs = c.newDirs()
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ErrInTheWay
	}
	suffix := backupSuffix
	if c.remove || filepath.Dir(c.name) != "." {
		suffix = tempSuffix // the name of the backup does not say where to put it back
	}
	if c.entry.Backup, c.unlock, err = tempDir(c.root, suffix); err != nil {
		return err
	}
	if link(c.root, c.name, c.entry.backup()) == nil {
		return nil
	}
	return c.copyTo(c.entry.backup(), info)
}

// newDirs returns the number of missing directories above the file.
func (c *change) newDirs() (n int) {
	for dir := filepath.Dir(c.name); dir != "."; dir = filepath.Dir(dir) {
		if _, err := c.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		n++
	}
	return n
}

// copyTo copies the file, with its mode and, as far as possible, its owner and time.
func (c *change) copyTo(name string, info fs.FileInfo) error {
	from, err := c.root.Open(c.name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	chownLike(to, info) // before the mode, some bits of which it may clear
	err = cmp.Or(err, to.Chmod(info.Mode()), to.Sync())
	if err = errors.Join(err, to.Close()); err == nil {
		_ = c.root.Chtimes(name, time.Time{}, info.ModTime()) // as far as possible
	}
	return err
}

// makeDir creates the directory of the file.
func (c *change) makeDir() error {
	if c.remove {
		return nil
	}
	return c.root.MkdirAll(filepath.Dir(c.name), 0o777)
}

// apply gives the file its name, or removes it.
func (c *change) apply() error {
	if c.remove {
		return remove(c.root, c.name)
	}
	err := rename(c.root, c.tmp, c.name)
	if info, statErr := c.root.Lstat(c.name); err != nil && statErr == nil && !info.Mode().IsRegular() {
		return ErrInTheWay
	}
	return err
}

// end removes the temporary file and the backup, unless the backup is kept.
func (c *change) end() {
	if c.entry != nil && c.entry.Backup != "" {
		_ = removeAll(c.root, c.entry.Backup) // the next writer tries again
	}
	if c.unlock != nil {
		c.unlock()
	}
	if c.remove {
		_ = c.root.Close() // nothing was written to it
	} else {
		c.abort()
	}
}
