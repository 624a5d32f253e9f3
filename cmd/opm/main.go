// Command opm is the toolchain for file-based catalogs of Kubernetes Operators.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/parallel"
)

func main() {
	setGCPercent(gcPercent)
	// A closed pipe is an error like any other: it must not end the program before it cleans up. See endWithClosedPipe.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	os.Exit(await(ctx, func() int { return run(ctx, os.Args[1:]) }))
}

// gcPercent is the default of GOGC. It is lower than Go's default of 100, which uses too much memory for a catalog of
// 800 MB. Commands stream their input through a small heap, so the lower value costs little time.
const gcPercent = 75

// setGCPercent sets GOGC unless the environment has.
func setGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// run executes one command line and returns the exit status: 0 for success and, as upstream, 1 for an error, unless the
// error has its own status.
func run(ctx context.Context, args []string) int {
	logrus.SetFormatter(podmanFormat{})
	root := rootCmd()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // only then: it takes a millisecond
		completeFlags(root)
	}
	return execute(ctx, root, args)
}

func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	cmd := root
	err := parallel.Catch(func() (err error) {
		cmd, err = root.ExecuteContextC(ctx)
		return err
	})
	if err == nil {
		return 0
	}
	if errors.Is(outputFailure(err), syscall.EPIPE) {
		// End without a message, as the system ends programs that do not handle SIGPIPE. Everything is cleaned up by now.
		signal.Reset(syscall.SIGPIPE)
		os.Stdout.WriteString("\n") // does not return, except on Windows
	}
	printError(root.ErrOrStderr(), cmd, err)
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 1
}

// grace is the time a command has to clean up after an interrupt.
const grace = 2 * time.Second

// drainTime is added to grace, in nanoseconds, while a server waits for calls to end.
var drainTime atomic.Int64

// await returns the result of run. After ctx is done, it waits only for the grace period, because run may be blocked on
// a pipe that nobody reads or writes.
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
	case <-time.After(grace + time.Duration(drainTime.Load())):
		fmt.Fprintln(os.Stderr, interrupted)
		return 1
	}
}
