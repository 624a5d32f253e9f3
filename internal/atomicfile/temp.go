package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Incomplete files and directories have a temporary name, and a lock that ends with the process, even if it is killed.
// An entry with such a name and no lock is a leftover of a killed process; the next writer to the directory removes it.
const (
	tempPrefix = ".opm-"
	tempSuffix = ".tmp"

	// backupSuffix is the suffix of a temporary directory with the backup of a file that is being replaced, under the
	// name of that file.
	backupSuffix = ".old" + tempSuffix

	journalSuffix = ".journal" + tempSuffix

	// keepMark is the name of a file in the directory of a backup that is not a leftover: the file could not be restored.
	keepMark = "opm-keep"
)

// staleAfter is the age at which an entry that cannot be locked, as on some network file systems, counts as a leftover.
const staleAfter = time.Hour

// Temp creates a file in dir, as os.CreateTemp does, and removes leftovers of killed processes there. The caller calls
// unlock after renaming or removing the file.
func Temp(dir string) (f *os.File, unlock func(), err error) {
	root, err := os.OpenRoot(cmp.Or(dir, os.TempDir()))
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	_, f, unlock, err = tempFile(root, 0o600)
	return f, unlock, err
}

func tempFile(root *os.Root, mode fs.FileMode) (name string, f *os.File, unlock func(), err error) {
	name, unlock, err = create(root, tempSuffix, func(name string) (err error) {
		f, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return name, f, unlock, err
}

// tempDir creates a directory in root, whose name ends with suffix.
func tempDir(root *os.Root, suffix string) (name string, unlock func(), err error) {
	return create(root, suffix, func(name string) error { return root.Mkdir(name, 0o777) })
}

// create calls fn with new names until it succeeds, and locks the created entry.
func create(root *os.Root, suffix string, fn func(name string) error) (name string, unlock func(), err error) {
	_ = removeStale(root) // leftovers do no harm here
	for {
		name := tempPrefix + strconv.FormatUint(rand.Uint64(), 36) + suffix
		switch err := fn(name); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return "", nil, err
		}
		unlock, err := TryLock(root, name)
		switch {
		case errors.Is(err, ErrLocked), errors.Is(err, fs.ErrNotExist):
			// Another process took it for a leftover and removed it.
		case err != nil:
			return name, func() {}, nil //nolint:nilerr // locks do not work here
		default:
			return name, unlock, nil
		}
	}
}

// RemoveStale removes the leftovers of killed processes from a directory and, if below is set, from the directories in
// it, and rolls back their transactions, also in other directories; see [Tx]. Directories that cannot be read are left
// out. The error joins one error for each leftover that cannot be removed, for each backup that is kept because its
// file could not be restored, and for each file that is put back from its backup.
func RemoveStale(dir string, below bool) error {
	var errs []error
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case !e.IsDir():
			return nil
		case name != "." && (IsTemp(e.Name()) || !below):
			return fs.SkipDir
		}
		if root, err := os.OpenRoot(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			errs = append(errs, removeStale(root))
			_ = root.Close() // nothing was written to it
		}
		return nil
	})
	return errors.Join(errs...)
}

// removeStale removes leftovers of killed processes from root. The error is as of [RemoveStale].
func removeStale(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	var errs []error
	entries, _ := dir.ReadDir(-1)
	hasJournal := false
	for _, e := range entries {
		if isJournal(e.Name()) && e.Type().IsRegular() {
			errs = append(errs, removeIfStale(root, e))
			_, err := root.Lstat(e.Name())
			hasJournal = hasJournal || err == nil
		}
	}
	for _, e := range entries {
		// A remaining journal may need all backups.
		if !isJournal(e.Name()) && IsTemp(e.Name()) && (e.IsDir() && !hasJournal || e.Type().IsRegular()) {
			errs = append(errs, removeIfStale(root, e))
		}
	}
	return errors.Join(errs...)
}

// removeIfStale removes e if no process uses it.
func removeIfStale(root *os.Root, e fs.DirEntry) error {
	unlock, err := TryLock(root, e.Name())
	switch {
	case err == nil:
		defer unlock() // after the removal, so that a process that has just created it sees that it is gone
	case errors.Is(err, ErrLocked), errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < staleAfter {
			return nil
		}
	}
	path := filepath.Join(root.Name(), e.Name())
	if isJournal(e.Name()) {
		done, err := rollBack(root, e.Name())
		if done {
			err = errors.Join(err, removeAll(root, e.Name()))
		}
		return err
	}
	if _, err := root.Lstat(filepath.Join(e.Name(), keepMark)); err == nil {
		return fmt.Errorf("%s has the old content of a file that could not be restored: move it back if you need it, and "+
			"delete the directory", path)
	}
	lost, err := putBackLost(root, e.Name())
	if err == nil {
		err = removeAll(root, e.Name())
	}
	switch {
	case err != nil:
		return pathError("remove what a killed process left:", path, err)
	case lost != "":
		path = filepath.Join(root.Name(), lost)
		return fmt.Errorf("%s was gone, and is put back from the backup of a killed process", path)
	}
	return nil
}

// putBackLost puts a backup back if its file is gone although it was only to be replaced, and returns its name: not
// every file system replaces a file in one step. It returns "" for other temporary files and directories.
func putBackLost(root *os.Root, dir string) (lost string, err error) {
	if !strings.HasSuffix(dir, backupSuffix) {
		return "", nil
	}
	backups, err := fs.ReadDir(root.FS(), dir)
	if err != nil || len(backups) == 0 {
		return "", err
	}
	name := backups[0].Name() // there is only one
	if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, rename(root, filepath.Join(dir, name), name)
}

func isJournal(name string) bool { return IsTemp(name) && strings.HasSuffix(name, journalSuffix) }

// IsTemp reports whether a name is the name of a file or directory that is being written, or was left over.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}
