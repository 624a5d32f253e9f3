package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
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
	Dirs  []escaped `json:"dirs"` // all directories of the transaction, the main one first; relative ones start here
	Files []*entry  `json:"files"`
}

// An entry is the change of one file.
type entry struct {
	Name    escaped   `json:"name"`             // in the directory of the journal
	NewDirs int       `json:"newDirs,omitzero"` // number of directories above the file that are new
	Backup  string    `json:"backup,omitzero"`  // directory with the backup; "" if the file is new
	Size    int64     `json:"size,omitzero"`    // of the new file
	Time    time.Time `json:"time,omitzero"`    // of the last change of the new file; zero if the file is removed
}

// An escaped is a path that is escaped in JSON as in a URL, because it need not be UTF-8.
type escaped string

// MarshalText implements [encoding.TextMarshaler].
func (e escaped) MarshalText() ([]byte, error) { return []byte(url.PathEscape(string(e))), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *escaped) UnmarshalText(text []byte) error {
	path, err := url.PathUnescape(string(text))
	*e = escaped(path)
	return err
}

// name returns the name of the file.
func (e *entry) name() string { return string(e.Name) }

// backup returns the name of the backup.
func (e *entry) backup() string { return filepath.Join(e.Backup, filepath.Base(e.name())) }

// A part is the part of a transaction in one directory.
type part struct {
	journal
	root   *os.Root
	info   fs.FileInfo // of root
	dir    string      // the real path of root
	name   string      // of the written journal; "" if there is none
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
			p.Dirs = append(p.Dirs, escaped(dir))
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
	text, err := readTrusted(root, name)
	if err == nil {
		err = json.Unmarshal(text, j, json.RejectUnknownMembers(true)) // a later version may mean something else
	}
	isWrong := func(e *entry) bool { return !filepath.IsLocal(e.name()) || e.Backup != "" && !IsTemp(e.Backup) }
	if err == nil && (len(j.Dirs) == 0 || slices.ContainsFunc(j.Files, isWrong)) {
		err = errors.New("not a journal of a transaction")
	}
	if err != nil {
		return nil, pathError("read", filepath.Join(root.Name(), name), err)
	}
	return j, nil
}

// readTrusted reads a file. In a directory with the sticky bit, such as /tmp, a user cannot change the files of others,
// so a journal must not do it either: the file must be of the user, of the owner of the directory, or of root.
func readTrusted(root *os.Root, name string) ([]byte, error) {
	f, info, err := regular.Open(root.FS(), name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := root.Stat(".")
	switch {
	case err != nil:
		return nil, err
	case dir.Mode()&fs.ModeSticky != 0 && !isOwnedBy(info, dir):
		return nil, errors.New("it belongs to another user")
	}
	return regular.ReadLimited(f)
}

// undo rolls back the changes of one directory, as far as possible, and returns the paths of the changed files. It can
// be repeated.
func (j *journal) undo(root *os.Root) (undone []string, err error) {
	for _, e := range slices.Backward(j.Files) {
		changed, failed := e.undo(root)
		if err = errors.Join(err, failed); changed {
			undone = append(undone, filepath.Join(root.Name(), e.name()))
		}
	}
	return undone, err
}

func (e *entry) undo(root *os.Root) (changed bool, err error) {
	name := e.name()
	path := filepath.Join(root.Name(), name)
	now, err := root.Lstat(name)
	isGone := errors.Is(err, fs.ErrNotExist)
	isNew := err == nil && now.Size() == e.Size && now.ModTime().Equal(e.Time)
	if e.Backup == "" {
		if err = nil; isNew {
			err = remove(root, name)
		}
		dir := filepath.Dir(name)
		for n := e.NewDirs; n > 0 && dir != "."; n-- {
			_ = remove(root, dir) // fails if another process has written to it
			dir = filepath.Dir(dir)
		}
		if err != nil {
			return false, pathError("remove the new", path, err)
		}
		return isNew, nil
	}
	old, missing := root.Lstat(e.backup())
	switch {
	case errors.Is(missing, fs.ErrNotExist): // it was restored before
		return false, nil
	case missing == nil && err == nil && os.SameFile(now, old): // also isNew, if both have the same size and time
		return false, nil
	case isNew, isGone:
		if err = rename(root, e.backup(), name); err == nil {
			return true, nil
		}
	case missing == nil && err == nil && now.Size() == old.Size() && now.ModTime().Equal(old.ModTime()):
		return false, nil // the backup is a copy
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
		path := filepath.Join(root.Name(), name)
		return false, fmt.Errorf("%s: a process that changed files here and in %s was killed, and that directory is gone: "+
			"delete the journal to keep the files as they are", path, j.Dirs[0])
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
	var parts []*part
	done = true
	for _, dir := range j.Dirs {
		p, dirErr := openPart(main, dir, name)
		dirDone := dirErr == nil
		if p != nil {
			defer p.root.Close()
			parts = append(parts, p)
			dirDone, dirErr = p.rollBack()
		}
		done, err = done && dirDone, errors.Join(err, dirErr)
	}
	if !done {
		return false, err
	}
	if err := remove(main, name); err != nil {
		return false, err
	}
	for _, p := range parts {
		err = errors.Join(err, removeStale(p.root))
	}
	return true, err
}

// openPart opens the part of a killed transaction in one directory. It returns nil if the directory is gone, or has no
// journal of this name with this main directory.
func openPart(main *os.Root, dir escaped, name string) (*part, error) {
	root, err := openDir(main, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j, err := readJournal(root, name)
	isPart := false
	if err == nil {
		isPart, err = leadsTo(root, j.Dirs[0], main)
	}
	if isPart {
		return &part{journal: *j, root: root}, nil
	}
	_ = root.Close() // nothing was written to it
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// leadsTo reports whether a directory of a journal in root is the directory want.
func leadsTo(root *os.Root, dir escaped, want *os.Root) (bool, error) {
	got, err := openDir(root, dir)
	if err != nil {
		return false, err
	}
	defer got.Close()
	gotInfo, gotErr := got.Stat(".")
	wantInfo, err := want.Stat(".")
	return os.SameFile(gotInfo, wantInfo), cmp.Or(gotErr, err)
}

// rollBack rolls back the changes of a killed transaction in one directory, with the results of the function rollBack.
func (p *part) rollBack() (done bool, err error) {
	for _, e := range p.Files {
		switch unlock, err := TryLock(p.root, e.name()); {
		case err == nil:
			defer unlock()
		case errors.Is(err, ErrLocked):
			return false, pathError("roll back the killed change of", filepath.Join(p.root.Name(), e.name()), err)
		}
	}
	undone, err := p.undo(p.root)
	for _, path := range undone {
		err = errors.Join(err, fmt.Errorf("%s was changed by a killed process, and is as it was before", path))
	}
	return true, err
}

// openDir opens a directory of a journal in root.
func openDir(root *os.Root, name escaped) (*os.Root, error) {
	dir := string(name)
	if !filepath.IsAbs(dir) {
		here, err := realPath(root.Name())
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(here, dir)
	}
	return regular.OpenRoot(dir)
}
