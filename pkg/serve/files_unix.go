//go:build unix

package serve

import "syscall"

// openFiles returns the number of files and connections that the process may have open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxOpenFiles
	}
	return min(uint64(limit.Cur), maxOpenFiles) //nolint:unconvert // it is signed on FreeBSD
}
