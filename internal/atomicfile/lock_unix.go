//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// TryLock locks the named file or directory until unlock is called or the process ends. The error is ErrLocked if
// another process or goroutine has the lock, and fs.ErrNotExist if the name no longer exists.
func TryLock(root *os.Root, name string) (unlock func(), err error) {
	f, err := root.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0) // NFS does not lock files opened read-only
	if errors.Is(err, syscall.EISDIR) {
		f, err = root.Open(name)
	}
	if err != nil {
		return nil, err
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	var info, named fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil {
		named, err = root.Lstat(name)
	}
	if err == nil && !os.SameFile(info, named) {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}

// LockDir waits for the lock of a directory and takes it. The lock ends when unlock is called or the process ends. On
// file systems without locks it does nothing.
func LockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = flock(f, syscall.LOCK_EX)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
