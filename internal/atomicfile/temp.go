package atomicfile

import (
	"cmp"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// Incomplete files and directories have a temporary name, and a lock that ends with the process, even if it is killed.
// An entry with such a name and no lock is a leftover of a killed process; the next writer to the directory removes it.
const (
	tempPrefix = ".opm-"
	tempSuffix = ".tmp"
)

// staleAfter is the age at which an entry that cannot be locked, as on some network file systems, counts as a leftover.
const staleAfter = time.Hour

// ErrLocked is the error for a lock held by another process or goroutine.
var ErrLocked = errors.New("locked by another process")

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
	name, unlock, err = create(root, func(name string) (err error) {
		f, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return name, f, unlock, err
}

// tempDir creates a directory in root.
func tempDir(root *os.Root) (name string, unlock func(), err error) {
	return create(root, func(name string) error { return root.Mkdir(name, 0o777) })
}

// create calls fn with new names until it succeeds, and locks the created entry.
func create(root *os.Root, fn func(name string) error) (name string, unlock func(), err error) {
	removeStale(root)
	for {
		name := tempPrefix + strconv.FormatUint(rand.Uint64(), 36) + tempSuffix
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

// removeStale removes leftovers of killed processes from root, as far as they can be removed.
func removeStale(root *os.Root) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		if IsTemp(e.Name()) && (e.IsDir() || e.Type().IsRegular()) {
			removeIfStale(root, e)
		}
	}
}

// removeIfStale removes e if no process uses it.
func removeIfStale(root *os.Root, e fs.DirEntry) {
	unlock, err := TryLock(root, e.Name())
	switch {
	case err == nil:
		defer unlock() // after the removal, so that a process that has just created it sees that it is gone
	case errors.Is(err, ErrLocked), errors.Is(err, fs.ErrNotExist):
		return
	default:
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < staleAfter {
			return
		}
	}
	_ = root.RemoveAll(e.Name())
}

// IsTemp reports whether a name is the name of a file or directory that is being written, or was left over.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}
