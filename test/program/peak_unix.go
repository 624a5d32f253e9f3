//go:build unix

package program

import (
	"os"
	"runtime"
	"syscall"
)

// forgetPeak resets the peak memory of this process to its current memory. Linux counts the peak as memory of the
// processes that are started now, since they share the memory until they run their own program.
func forgetPeak() {
	const peak = "5"
	// A system without this file does not need it, or has no other way.
	_ = os.WriteFile("/proc/self/clear_refs", []byte(peak), 0)
}

// peak returns the peak resident memory of a process that has ended, in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // Maxrss is in bytes
		return int64(usage.Maxrss) //nolint:unconvert // not of 64 bits everywhere
	}
	return int64(usage.Maxrss) * 1024 //nolint:unconvert // likewise
}
