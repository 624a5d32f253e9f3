package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/internal/regular"
)

// A journal has the changes of a transaction in one directory; see [Tx]. The journals of a transaction have the same
// name. A journal names no files outside of its directory, so one that came with a downloaded directory changes no
// others.
type journal struct {
	Dirs  []string `json:"dirs"` // all directories of the transaction; relative ones start at this one; the main one first
	Files []*entry `json:"files"`
}

// An entry is the change of one file.
type entry struct {
	Name   string    `json:"name"`            // in the directory of the journal
	Backup string    `json:"backup,omitzero"` // directory with the backup; "" if the file is new
	Size   int64     `json:"size,omitzero"`   // of the new file
	Time   time.Time `json:"time,omitzero"`   // of the last change of the new file; zero if the file is removed
}

// backup returns the name of the backup.
func (e *entry) backup() string { return filepath.Join(e.Backup, filepath.Base(e.Name)) }

// A part is the part of a transaction in one directory.
type part struct {
	journal
	root   *os.Root
	dir    string // the real path of root
	name   string // of the written journal; "" if there is none
	unlock func()
}

func realPath(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// writeJournals writes the journals, the main one last.
func writeJournals(parts []*part) error {
	name := tempPrefix + strconv.FormatUint(rand.Uint64(), 36) + journalSuffix
	for _, p := range slices.Backward(parts) {
		for _, other := range parts {
			dir, err := filepath.Rel(p.dir, other.dir)
			if err != nil {
				dir = other.dir // on another volume
			}
			p.Dirs = append(p.Dirs, dir)
		}
		if err := p.write(name); err != nil {
			return pathError("write", filepath.Join(p.root.Name(), name), err)
		}
	}
	return nil
}

// write writes the journal to a file that is locked before it has its name.
func (p *part) write(name string) error {
	text, err := json.Marshal(p.journal)
	if err != nil {
		return err
	}
	tmp, f, unlock, err := tempFile(p.root, 0o666)
	if err != nil {
		return err
	}
	p.name, p.unlock = tmp, unlock
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = renameJournal(p.root, tmp, name); err == nil {
		p.name = name
	}
	return err
}

// removeMain removes the main journal, if there is one.
func removeMain(parts []*part) error {
	if len(parts) == 0 || parts[0].name == "" {
		return nil
	}
	if err := remove(parts[0].root, parts[0].name); err != nil {
		return pathError("remove", filepath.Join(parts[0].root.Name(), parts[0].name), err)
	}
	return nil
}

// removeJournals removes and unlocks all journals after the main one.
func removeJournals(parts []*part) {
	for _, p := range parts {
		if p.name != "" {
			_ = remove(p.root, p.name) // the next writer tries again
			p.unlock()
		}
	}
}

// readJournal reads the named journal of a directory.
func readJournal(root *os.Root, name string) (*journal, error) {
	j := &journal{}
	text, err := regular.ReadFile(root.FS(), name, regular.MaxInput)
	if err == nil {
		err = json.Unmarshal(text, j)
	}
	isWrong := func(e *entry) bool { return !filepath.IsLocal(e.Name) || e.Backup != "" && !IsTemp(e.Backup) }
	if err == nil && (len(j.Dirs) == 0 || slices.ContainsFunc(j.Files, isWrong)) {
		err = errors.New("not a journal of a transaction")
	}
	if err != nil {
		return nil, pathError("read", filepath.Join(root.Name(), name), err)
	}
	return j, nil
}

// undo rolls back the changes of one directory, as far as possible, and returns the paths of the changed files. It can
// be repeated.
func (j *journal) undo(root *os.Root) (undone []string, err error) {
	for _, e := range slices.Backward(j.Files) {
		changed, failed := e.undo(root)
		if err = errors.Join(err, failed); changed {
			undone = append(undone, filepath.Join(root.Name(), e.Name))
		}
	}
	return undone, err
}

func (e *entry) undo(root *os.Root) (changed bool, err error) {
	path := filepath.Join(root.Name(), e.Name)
	now, err := root.Lstat(e.Name)
	isGone := errors.Is(err, fs.ErrNotExist)
	isNew := err == nil && now.Size() == e.Size && now.ModTime().Equal(e.Time)
	if e.Backup == "" {
		if err = nil; isNew {
			err = remove(root, e.Name)
		}
		for dir := filepath.Dir(e.Name); dir != "."; dir = filepath.Dir(dir) {
			_ = remove(root, dir) // fails if another process has written to it
		}
		if err != nil {
			return false, pathError("remove the new", path, err)
		}
		return isNew, nil
	}
	old, missing := root.Lstat(e.backup())
	isOld := missing == nil && err == nil && (os.SameFile(now, old) ||
		now.Size() == old.Size() && now.ModTime().Equal(old.ModTime())) // if the backup is a copy
	switch {
	case errors.Is(missing, fs.ErrNotExist): // it was restored before
		return false, nil
	case isNew, isGone:
		if err = rename(root, e.backup(), e.Name); err == nil {
			return true, nil
		}
	case isOld:
		return false, nil
	case err == nil:
		err = errors.New("another process changed it")
	}
	return false, e.keep(root, pathError("restore", path, err))
}

// keep marks the backup of a file that could not be restored, and adds its path to the error.
func (e *entry) keep(root *os.Root, err error) error {
	err = fmt.Errorf("%w; its old content is in %s", err, filepath.Join(root.Name(), e.backup()))
	mark, markErr := root.OpenFile(filepath.Join(e.Backup, keepMark), os.O_WRONLY|os.O_CREATE, 0o666)
	if markErr == nil {
		markErr = mark.Close()
	}
	if markErr != nil {
		err = fmt.Errorf("%w, until the next command that writes to this directory: copy it at once", err)
	}
	e.Backup = ""
	return err
}

// rollBack rolls back the transaction of a killed process, unless it was committed. It is given the journal of one
// directory, which the caller has locked. It reports false if the journals must stay, because another process uses the
// files, or a directory cannot be read. The error joins one error for each file that was or could not be rolled back.
func rollBack(root *os.Root, name string) (done bool, err error) {
	j, err := readJournal(root, name)
	if err != nil {
		return false, err
	}
	main, err := openDir(root, j.Dirs[0])
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer main.Close()
	if j.Dirs[0] != "." {
		switch unlock, err := TryLock(main, name); {
		case err == nil:
			defer unlock()
		case errors.Is(err, ErrLocked):
			return false, nil
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		}
		if j, err = readJournal(main, name); err != nil {
			return false, err
		}
	}
	done = true
	for _, dir := range j.Dirs {
		dirDone, dirErr := rollBackIn(main, dir, name)
		done, err = done && dirDone, errors.Join(err, dirErr)
	}
	if !done {
		return false, err
	}
	if err := remove(main, name); err != nil {
		return false, err
	}
	for _, dir := range j.Dirs {
		if other, openErr := openDir(main, dir); openErr == nil {
			err = errors.Join(err, removeStale(other), other.Close())
		}
	}
	return true, err
}

// rollBackIn rolls back the changes of one directory of a transaction, with the results of rollBack.
func rollBackIn(main *os.Root, dir, name string) (done bool, err error) {
	root, err := openDir(main, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer root.Close()
	j, err := readJournal(root, name)
	if errors.Is(err, fs.ErrNotExist) { // the directory is another one
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range j.Files {
		switch unlock, err := TryLock(root, e.Name); {
		case err == nil:
			defer unlock()
		case errors.Is(err, ErrLocked):
			return false, pathError("roll back the killed change of", filepath.Join(root.Name(), e.Name), err)
		}
	}
	undone, err := j.undo(root)
	for _, path := range undone {
		err = errors.Join(err, fmt.Errorf("%s was changed by a killed process, and is as it was before", path))
	}
	return true, err
}

// openDir opens a directory of a journal in root.
func openDir(root *os.Root, dir string) (*os.Root, error) {
	if !filepath.IsAbs(dir) {
		here, err := realPath(root.Name())
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(here, dir)
	}
	return regular.OpenRoot(dir)
}
