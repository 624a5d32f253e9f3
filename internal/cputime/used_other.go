//go:build !unix

package cputime

import "time"

var start = time.Now()

// used returns the time on the clock: what the processors do is not asked for on this system.
func used() time.Duration { return time.Since(start) }
