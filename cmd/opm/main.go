// Command opm is the toolchain for file-based catalogs of Kubernetes Operators.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/advice"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
	_ "github.com/opm-toolchain/opm/cmd/opm/internal/startup"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/linelog"
	"github.com/opm-toolchain/opm/internal/parallel"
)

func main() {
	var p process.Process
	p.SetGCPercent(process.GCPercent)
	// A closed pipe is an error like any other: it must not end the program before it cleans up. See endWithClosedPipe.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	status := p.Await(ctx, func() int {
		return run(ctx, call{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, process: &p})
	})
	if status == closedPipe {
		endWithClosedPipe()
	}
	os.Exit(status)
}

// A call is a command line with its standard streams. The working directory and the environment of a call are the
// process's, since that is where Go's library and podman's libraries look for them; nothing else that a call changes is
// seen by the next call in the same process.
type call struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	process        *process.Process // nil if the process has other calls
}

// closedPipe is the exit status of a call whose reader closed the output before its end: 128 and SIGPIPE.
const closedPipe = 141

// run executes a call and returns its exit status: 0 for success and, as upstream, 1 for an error, unless the error has
// its own status.
func run(ctx context.Context, c call) int {
	logrus.SetFormatter(linelog.Formatter{})
	logrus.SetOutput(c.stderr)
	root := rootCmd(c.stdout, first(c.args))
	root.SetIn(c.stdin)
	root.SetErr(console.NewStderr(c.stderr))
	root.SetArgs(c.args)
	if strings.HasPrefix(first(c.args), cobra.ShellCompRequestCmd) { // only then: it takes a millisecond
		completion.Flags(root)
	}
	return execute(process.With(ctx, c.process), root)
}

// first returns the first argument, "" for none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func execute(ctx context.Context, root *cobra.Command) int {
	cmd := root
	err := parallel.Catch(func() (err error) {
		cmd, err = root.ExecuteContextC(ctx)
		return err
	})
	if err == nil {
		return 0
	}
	if errors.Is(failure.OfOutput(err), syscall.EPIPE) {
		return closedPipe // without a message
	}
	printError(root.ErrOrStderr(), cmd, err)
	return failure.Status(err)
}

// printError prints the error of a command with advice.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	failure.Print(w, cmd, err, func(err error) string { return hintLine(cmd, err) })
}

// hintLine returns the line with the advice about err, or "".
func hintLine(cmd *cobra.Command, err error) string {
	if hint := advice.For(cmd, err, openOptions(cmd)); hint != "" {
		return "hint: " + legible.Lines(hint) + "\n"
	}
	return ""
}

// endWithClosedPipe ends the program as the system ends programs that do not handle SIGPIPE. Everything is cleaned up
// by now.
func endWithClosedPipe() {
	signal.Reset(syscall.SIGPIPE)
	os.Stdout.WriteString("\n") // does not return, except on Windows
}
