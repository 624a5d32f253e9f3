// Package memlimit is about the memory that the program may use.
package memlimit

import (
	"math"
	"runtime/debug"
)

// Bytes returns the memory limit of the program: GOMEMLIMIT or the limit of the system, whichever is less, and the
// largest number if neither is set.
func Bytes() int64 { return min(debug.SetMemoryLimit(-1), systemLimit()) }

// Honor makes the garbage collector keep the program within the limit of the system, unless GOMEMLIMIT is set. It
// reserves a part for memory outside of Go: the program's code, and kernel memory.
func Honor() {
	if limit := systemLimit(); limit < math.MaxInt64 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit - max(limit/10, min(reserved, limit/2)))
	}
}

// reserved is the part of a small limit that is left for memory outside of Go, in bytes.
const reserved = 36 << 20
