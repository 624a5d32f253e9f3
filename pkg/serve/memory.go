package serve

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// MemoryLimit returns the memory limit of the program in bytes: GOMEMLIMIT or the limit of the system, whichever is
// less, and the largest number if neither is set.
func MemoryLimit() int64 { return min(debug.SetMemoryLimit(-1), systemMemoryLimit()) }

// HonorMemoryLimit makes the garbage collector keep the program within the memory limit of the system, unless
// GOMEMLIMIT is set. It reserves a part for memory outside of Go: the program's code, and kernel memory.
func HonorMemoryLimit() {
	if limit := systemMemoryLimit(); limit < math.MaxInt64 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit - max(limit/10, min(reservedMemory, limit/2)))
	}
}

// reservedMemory is the part of a small limit that is left for memory outside of Go, in bytes.
const reservedMemory = 36 << 20

// residentMemory returns the size of the memory of the process, for people.
func residentMemory() string {
	const megabyte = 1 << 20
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
				if err == nil {
					return strconv.Itoa(kilobytes/1024) + " MB"
				}
			}
		}
	}
	var m runtime.MemStats // without a proc file system: what Go has requested
	runtime.ReadMemStats(&m)
	return strconv.FormatUint(m.Sys/megabyte, 10) + " MB"
}
