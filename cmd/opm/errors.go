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

	"github.com/opm-toolchain/opm/cmd/opm/internal/advice"
	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/help"
	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A failure is the error of a command that has already printed the details.
type failure struct {
	reason string // for the line that begins with "Error: "; "" for no such line
	after  string // whole lines that follow: counts, notes
}

func (f *failure) Error() string { return f.reason }

// failed returns the failure of a command whose output on standard output has the details.
func failed(reason string) error { return &failure{reason: reason} }

// with returns the failure with more lines after it.
func (f *failure) with(lines string) *failure { return &failure{f.reason, f.after + lines} }

// A statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

func (e *statusError) Unwrap() error { return e.error }

// printError prints the errors of a failed command, one per line. An error in a file is printed as
// file:line:column: error: message. Then it prints the only line that begins with "Error: ", which has the first error,
// and hints, counts and the usage.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	var f *failure
	var p *parallel.PanicError
	switch why := outputFailure(err); {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, process.Interrupted)
		return
	case errors.As(err, &p):
		const request = "please report this to the maintainers of opm, with the lines that follow"
		f = &failure{p.Error(), fmt.Sprintf("opm: %s\n%s", request, p.Stack)}
	case why != nil:
		f = &failure{reason: fmt.Sprintf("write output: %v", why)}
	default:
		f = listErrors(w, cmd, flatten(err))
	}
	if f.reason != "" {
		fmt.Fprintf(w, "Error: %s\n", legibleLines(f.reason))
	}
	fmt.Fprint(w, f.after)
	if _, ok := errors.AsType[cmdline.Error](err); ok {
		fmt.Fprintf(w, "usage: %s\nSee \"%s --help\".\n", help.UsageLine(cmd), cmd.CommandPath())
	}
}

// listErrors prints errors, except for a single error without a position, and returns the failure to print after them.
func listErrors(w io.Writer, cmd *cobra.Command, errs []error) *failure {
	f := &failure{reason: reason(errs)}
	shown := errs
	if len(errs) > maxErrors+1 { // the line about a single error would be no shorter
		shown = errs[:maxErrors]
	}
	if _, hasPlace := errs[0].(*declcfg.Error); hasPlace || len(errs) > 1 { //nolint:errorlint // a wrapper adds text
		for _, err := range shown {
			fmt.Fprintln(w, errorLine("", err))
		}
	}
	f.after = hintLine(cmd, errs[0])
	if more := len(errs) - len(shown); more > 0 {
		f.after += fmt.Sprintf("opm: %s not printed\n", plural.Of(more, "more error"))
	}
	return f
}

// errorLine returns the line about an error: with its position, or else with a heading, such as the name of a catalog;
// "" for none.
func errorLine(heading string, err error) string {
	if e, ok := err.(*declcfg.Error); ok { //nolint:errorlint // a wrapper adds text
		return placed(e.Pos, problem.Error, e.Message())
	}
	return "opm: error: " + heading + legibleLines(err.Error())
}

// outputFailure returns the error of writing to standard output, without the text that writers in between added, or nil
// if err is another error.
func outputFailure(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "write" && e.Path == os.Stdout.Name() {
		return e.Err
	}
	return nil
}

// maxErrors is the maximum number of printed errors. A file that is not a catalog may have many more.
const maxErrors = 1000

// flatten returns an error, or all errors that are joined in it.
func flatten(err error) []error {
	if e, ok := err.(*statusError); ok { //nolint:errorlint // run adds it as the outermost error
		err = e.error
	}
	return problem.Flatten(err)
}

// reason returns the message and the position of the first error, and the number of errors.
func reason(errs []error) string {
	if e, ok := errs[0].(*declcfg.Error); ok { //nolint:errorlint // a wrapper adds text
		return problem.First(legible.Text(e.Message()), e.Pos, len(errs))
	}
	return problem.First(errs[0].Error(), declcfg.Pos{}, len(errs))
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

// hintLine returns the line with the advice about err, or "".
func hintLine(cmd *cobra.Command, err error) string {
	if hint := advice.For(cmd, err, openOptions(cmd)); hint != "" {
		return "hint: " + legibleLines(hint) + "\n"
	}
	return ""
}
