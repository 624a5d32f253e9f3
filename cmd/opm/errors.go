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
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// interrupted is printed when a signal ended the program.
const interrupted = "opm: interrupted"

// errReported is returned by a command that has already printed its error.
var errReported = errors.New("reported")

// A usageError is an invalid command line. It is printed with the usage of the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// A statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

func (e *statusError) Unwrap() error { return e.error }

// printError prints errors in files as file:line:column: error: message, and all others as opm: message.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	if errors.Is(err, errReported) {
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, interrupted)
		return
	}
	if p, ok := errors.AsType[*parallel.Panic](err); ok {
		fmt.Fprintf(w, "opm: %s; please report this to the maintainers of opm, with the lines that follow\n%s", p, p.Stack)
		return
	}
	if why := outputFailure(err); why != nil {
		fmt.Fprintf(w, "opm: write output: %v\n", why)
		return
	}
	errs := flatten(nil, err)
	for _, err := range errs[:min(len(errs), maxErrors)] {
		printOne(w, cmd, err)
	}
	if more := len(errs) - maxErrors; more > 0 {
		fmt.Fprintf(w, "opm: %s not printed\n", plural.Of(more, "more error"))
	}
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(w, "usage: %s\nSee \"%s --help\".\n", usageLine(cmd), cmd.CommandPath())
	}
}

// outputFailure returns the error of writing to standard output, without the text that writers in between added, or nil
// if err is another error.
func outputFailure(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "write" && e.Path == os.Stdout.Name() {
		return e.Err
	}
	return nil
}

// maxErrors is how many errors are printed: nobody reads all of a file of another kind.
const maxErrors = 1000

// flatten adds an error, or all that are joined in it.
func flatten(errs []error, err error) []error {
	if e, ok := err.(*statusError); ok { //nolint:errorlint // run adds it last
		err = e.error
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return append(errs, err)
	}
	for _, e := range many.Unwrap() {
		errs = flatten(errs, e)
	}
	return errs
}

func printOne(w io.Writer, cmd *cobra.Command, err error) {
	if e, ok := err.(*declcfg.Error); ok { //nolint:errorlint // a wrapper adds text
		fmt.Fprintln(w, placed(e.Pos, "error", e.Message()+advice(cmd, e)))
		return
	}
	fmt.Fprintf(w, "opm: %s\n", legibleLines(err.Error()+advice(cmd, err)))
}

// placed returns a message with its position, escaped for terminals.
func placed(pos declcfg.Pos, severity problem.Severity, what string) string {
	p := problem.Problem{Severity: severity, Pos: pos, Message: what}
	return p.String()
}

// legibleLines escapes an error message for terminals, and cuts long values in it. Lines after the first are indented,
// since they do not begin another error.
func legibleLines(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		lines[i] = legible.Name(legible.Message(line))
	}
	return strings.Join(lines, "\n  ")
}
