//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockOpened opens a file or directory and locks it until it is closed. named returns the info of the file with
// its name afterwards. Errors are as for TryLock.
func lockOpened(open func(flags int) (*os.File, error), named func() (fs.FileInfo, error)) (*os.File, error) {
	f, err := open(os.O_RDWR | syscall.O_NONBLOCK) // NFS does not lock files opened read-only
	if errors.Is(err, syscall.EISDIR) {
		f, err = open(os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	var info, now fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil {
		now, err = named()
	}
	if err == nil && !os.SameFile(info, now) {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
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
