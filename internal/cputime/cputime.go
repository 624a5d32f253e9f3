// Package cputime measures tests in CPU time. On a busy machine, elapsed time means little.
package cputime

import "time"

// Start starts a measurement. The returned function returns the CPU time of all threads of this process since then.
func Start() (spent func() time.Duration) {
	start := used()
	return func() time.Duration { return used() - start }
}
