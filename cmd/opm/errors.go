package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// errReported ends a command that has said what is wrong already.
var errReported = errors.New("reported")

// A usageError is a command line that cannot be understood. It is printed with the usage of the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// printError prints err for people: errors in files as file:line:column: error: what, all others after the name of the
// program.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	switch {
	case errors.Is(err, errReported):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "opm: interrupted")
	case errors.Is(err, syscall.EPIPE): // whoever reads the output has seen enough
		fmt.Fprintln(w, "opm: write output: broken pipe")
	default:
		printEach(w, err)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(w, "\n%s\nSee \"%s --help\".\n", cmd.UseLine(), cmd.CommandPath())
	}
}

func printEach(w io.Writer, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			printEach(w, e)
		}
		return
	}
	if e, ok := err.(*declcfg.Error); ok {
		fmt.Fprintf(w, "%s: error: %s\n", e.Pos, e.Message())
		return
	}
	fmt.Fprintf(w, "opm: %v\n", err)
}
