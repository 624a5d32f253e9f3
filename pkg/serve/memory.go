package serve

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// MemoryLimit returns the memory limit of the program in bytes: GOMEMLIMIT or the limit of the system, whichever is
// less, and the largest number if neither is set.
func MemoryLimit() int64 { return min(debug.SetMemoryLimit(-1), systemMemoryLimit()) }

// HonorMemoryLimit makes the garbage collector keep the program within the limit of the system, unless GOMEMLIMIT is
// set. A part is left for memory outside of Go: the program's code, and kernel memory.
func HonorMemoryLimit() {
	if limit := systemMemoryLimit(); limit < math.MaxInt64 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit - max(limit/10, min(reservedMemory, limit/2)))
	}
}

// reservedMemory is the part of a small limit that is left for memory outside of Go, in bytes.
const reservedMemory = 36 << 20

// tidyEvery is the interval at which memory is returned to the system after load. By then, pools have dropped their
// buffers.
const tidyEvery = 5 * time.Second

// tidy returns memory to the system when load ends or a catalog was loaded, until ctx is done: a server without calls
// makes no garbage, so that the garbage collector has no reason to run. It does the same before a client is cut off,
// since messages that gRPC has lost count as unsent until they are collected.
func (l *limits) tidy(ctx context.Context) error {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	used := false // since memory was returned
	var peak int64
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		now, most, grants := l.memory.usage()
		idle := !l.loaded.Swap(false) && grants == 0
		used, peak = used || !idle, max(peak, most)
		calmer := peak > l.memory.size()/4 && now < peak/8
		if l.late.Swap(false) || used && (idle || calmer) {
			debug.FreeOSMemory()
			used, peak = false, now
		}
	}
}

// residentMemory returns what memory the process takes, for people.
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
