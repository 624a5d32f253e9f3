//go:build unix

package regular

import (
	"os"
	"syscall"
)

// duplicate returns a new descriptor for an open file of the process.
func duplicate(fd int, name string) (*os.File, error) {
	syscall.ForkLock.RLock() // no child inherits it
	defer syscall.ForkLock.RUnlock()
	again, err := syscall.Dup(fd)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(again)
	return os.NewFile(uintptr(again), name), nil
}
