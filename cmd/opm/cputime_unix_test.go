//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of all threads of this process. On a busy machine, elapsed time means little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
