//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package image

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockDir waits until no other process holds the lock of a directory, and takes it. The lock ends with unlock, or with
// the process. File systems that know no locks have none.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, closing(fmt.Errorf("lock %s: %w", dir, err), f)
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}
