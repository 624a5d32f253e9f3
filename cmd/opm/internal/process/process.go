// Package process has the settings of the process in which a command runs: garbage collection, the memory limit, the
// time to clean up after an interrupt, and the log of the reason why it ended.
package process

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/memlimit"
)

// A Process is the process of a program that runs one call, whose command may set limits of the whole process. A nil
// process has other calls: it ignores all settings.
type Process struct {
	drain atomic.Int64 // see WaitFor
}

type key struct{}

// With returns a context with the process of a call.
func With(ctx context.Context, p *Process) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// Of returns the process of a call.
func Of(ctx context.Context) *Process {
	p, _ := ctx.Value(key{}).(*Process) // a command of a test has none
	return p
}

// GCPercent is the default of GOGC. It is lower than Go's default of 100, which uses too much memory for a catalog of
// 800 MB. Commands stream their input through a small heap, so the lower value costs little time.
const GCPercent = 75

// SetGCPercent sets GOGC unless the environment has.
func (p *Process) SetGCPercent(percent int) {
	if p != nil && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// HonorMemoryLimit keeps the process within the memory limit of the system; see [memlimit.Honor].
func (p *Process) HonorMemoryLimit() {
	if p != nil {
		memlimit.Honor()
	}
}

// WaitFor extends the time to clean up after an interrupt, for a server that waits for calls to end.
func (p *Process) WaitFor(drain time.Duration) {
	if p != nil {
		p.drain.Store(int64(drain))
	}
}

// Interrupted is the line to print if a signal ended the program.
const Interrupted = "Error: interrupted"

// grace is the time a command has to clean up after an interrupt.
const grace = 2 * time.Second

// Await returns the result of run. After ctx is done, it waits only for the grace period, because run may be blocked on
// a pipe that nobody reads or writes.
func (p *Process) Await(ctx context.Context, run func() int) int {
	status := make(chan int, 1)
	go func() { status <- run() }()
	select {
	case s := <-status:
		return s
	case <-ctx.Done():
	}
	select {
	case s := <-status:
		return s
	case <-time.After(grace + time.Duration(p.drain.Load())):
		fmt.Fprintln(os.Stderr, Interrupted)
		return 1
	}
}

// Limits of garbage in a server. Memory peaks while the server loads: until it is ready, the limit is loadingGarbage
// bytes, but at least loadingGCPercent of the live heap. A percentage alone would run the garbage collector most often
// while the heap is small, which takes time and saves nothing. After loading, the percentage of other commands would be
// so low that a third of the response time would be spent on garbage collection.
const (
	loadingGarbage   = 4 << 20
	loadingGCPercent = 20
	servingGCPercent = 100
)

// LimitGarbage applies the limits for loading until ctx is done, and then the limit for serving.
func (p *Process) LimitGarbage(ctx context.Context) {
	if p == nil {
		return
	}
	defer p.SetGCPercent(servingGCPercent)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for ctx.Err() == nil {
		metrics.Read(live)
		p.SetGCPercent(percentWhileLoading(live[0].Value.Uint64()))
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// percentWhileLoading returns the value of GOGC while the server loads, for a live heap of the given size in bytes.
func percentWhileLoading(live uint64) int {
	percent := 100 * loadingGarbage / max(live, loadingGarbage)
	return int(max(loadingGCPercent, percent))
}
