// Package cputime measures the work of tests in time of processors. On a busy machine time on the clock says little.
package cputime

import "time"

// Start begins to measure. What it returns reports for how long processors have worked for this process since then, all
// of them together.
func Start() (spent func() time.Duration) {
	start := used()
	return func() time.Duration { return used() - start }
}
