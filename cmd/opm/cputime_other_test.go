//go:build !unix

package main

import "time"

var processStart = time.Now()

// cpuTime returns elapsed time: CPU time is not measured on this system.
func cpuTime() time.Duration { return time.Since(processStart) }
