//go:build unix

package main

import (
	"syscall"
	"time"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
)

// cpuTime returns the CPU time of all threads of this process. On a busy machine, elapsed time means little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	cmdline.Must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
