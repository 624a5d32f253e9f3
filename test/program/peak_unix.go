//go:build unix

package program

import (
	"os"
	"runtime"
	"syscall"
)

// forgetPeak lets processes that are started now begin with what memory this process has now. Linux counts the largest
// that it ever had as theirs, since they share it until they run a program of their own.
func forgetPeak() {
	const peak = "5"
	// Where there is no such file, it is not needed or cannot be helped.
	_ = os.WriteFile("/proc/self/clear_refs", []byte(peak), 0)
}

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
