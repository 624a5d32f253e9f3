// Command opm is the toolchain for file-based catalogs of Kubernetes Operators.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// A reader that goes away is an error like any other, and no reason to die without cleaning up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(await(ctx, func() int { return run(ctx, os.Args[1:]) }))
}

// gcPercent is how much garbage may gather before it is collected, in percent of what is in use. Commands stream what
// they read through a small heap, so that half of Go's default costs little time and takes a fifth off the peak of
// memory.
const gcPercent = 50

// run executes one command line and returns the exit code: 0 for success, 1 for anything else.
func run(ctx context.Context, args []string) int {
	root := rootCmd()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	printError(os.Stderr, cmd, err)
	return 1
}

// grace is how long a command may take to clean up after it was interrupted.
const grace = 2 * time.Second

// patience is the time beyond that, in nanoseconds: a server lets calls end.
var patience atomic.Int64

// await returns what run does. Once ctx is done it does not wait for longer than the grace period: run may be stuck in
// writing to a pipe that nobody reads, or in opening one that nobody writes to, which nothing else ends.
func await(ctx context.Context, run func() int) int {
	code := make(chan int, 1)
	go func() { code <- run() }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	select {
	case c := <-code:
		return c
	case <-time.After(grace + time.Duration(patience.Load())):
		fmt.Fprintln(os.Stderr, interrupted)
		return 1
	}
}
