//go:build !unix

package cputime

import "time"

var start = time.Now()

// used returns elapsed time: CPU time is not measured on this system.
func used() time.Duration { return time.Since(start) }
