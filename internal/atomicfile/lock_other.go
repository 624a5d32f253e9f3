//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

func lockOpened(func(int) (*os.File, error), func() (fs.FileInfo, error)) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

// LockDir does nothing: directories cannot be locked on this system.
func LockDir(string) (unlock func(), err error) { return func() {}, nil }
