package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// ErrLocked is the error for a lock held by another process or goroutine.
var ErrLocked = errors.New("locked by another process")

// TryLock locks the named file or directory until unlock is called or the process ends. The error is ErrLocked if
// another process or goroutine has the lock, fs.ErrNotExist if the name no longer exists, and errors.ErrUnsupported on
// systems without locks.
func TryLock(root *os.Root, name string) (unlock func(), err error) {
	open := func(flags int) (*os.File, error) { return root.OpenFile(name, flags, 0) }
	f, err := lockOpened(open, func() (fs.FileInfo, error) { return root.Lstat(name) })
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}

// OpenLocked opens a file for reading, and locks it as TryLock does until it is closed. Links are followed. On systems
// without locks it only opens the file.
func OpenLocked(path string) (*os.File, error) {
	open := func(flags int) (*os.File, error) { return os.OpenFile(path, flags, 0) }
	f, err := lockOpened(open, func() (fs.FileInfo, error) { return os.Stat(path) })
	if errors.Is(err, errors.ErrUnsupported) {
		return os.Open(path)
	}
	return f, err
}
