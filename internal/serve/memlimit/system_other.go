//go:build !linux

package memlimit

import "math"

// systemLimit returns the largest number: no limit is known.
func systemLimit() int64 { return math.MaxInt64 }
