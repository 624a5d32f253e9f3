package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// interrupted is printed when a signal ended the program.
const interrupted = "opm: interrupted"

// errReported ends a command that has said what is wrong already.
var errReported = errors.New("reported")

// A usageError is a command line that cannot be understood. It is printed with the usage of the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// printError prints err for people: errors in files as file:line:column: error: what, all others after the name of the
// program.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	if errors.Is(err, errReported) {
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, interrupted)
		return
	}
	if why := outputFailure(err); why != nil {
		fmt.Fprintf(w, "opm: write output: %v\n", why)
		return
	}
	printEach(w, err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(w, "usage: %s\nSee \"%s --help\".\n", cmd.UseLine(), cmd.CommandPath())
	}
}

// outputFailure returns why standard output cannot be written, or nil where err is about something else. Writers in
// between may have added words of their own to it.
func outputFailure(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "write" && e.Path == os.Stdout.Name() {
		return e.Err
	}
	return nil
}

func printEach(w io.Writer, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			printEach(w, e)
		}
		return
	}
	if e, ok := err.(*declcfg.Error); ok { //nolint:errorlint // one that is wrapped has more to say than its place
		fmt.Fprintln(w, placed(e.Pos, "error", e.Message()))
		return
	}
	fmt.Fprintf(w, "opm: %s\n", legibleLines(err.Error()))
}

// placed returns the line that tells what is wrong at a place, whatever that and the name of the file hold.
func placed(pos declcfg.Pos, severity problem.Severity, what string) string {
	p := problem.Problem{Severity: severity, Pos: pos, Message: what}
	return p.String()
}

// legibleLines makes the message of an error fit for a terminal. Lines after the first are indented, so that none is
// taken for another error.
func legibleLines(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		lines[i] = legible.Name(line)
	}
	return strings.Join(lines, "\n  ")
}
