//go:build unix

package program

import (
	"os"
	"runtime"
	"syscall"
)

// peak returns the largest resident memory of a process that has ended.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // which counts in bytes
		return int64(usage.Maxrss) //nolint:unconvert // not of 64 bits everywhere
	}
	return int64(usage.Maxrss) * 1024 //nolint:unconvert // likewise
}
