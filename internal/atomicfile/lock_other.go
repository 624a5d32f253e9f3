//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"errors"
	"os"
)

func TryLock(*os.Root, string) (unlock func(), err error) { return nil, errors.ErrUnsupported }

// LockDir does nothing: directories cannot be locked on this system.
func LockDir(string) (unlock func(), err error) { return func() {}, nil }
