package failure

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/help"
	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// MaxErrors is the maximum number of printed errors. A file that is not a catalog may have many more.
const MaxErrors = 1000

// Print prints the errors of a failed command, one per line. An error in a file is printed as
// file:line:column: error: message. Then it prints the only line that begins with "Error: ", which has the first error,
// and the lines that hint returns about it, counts and the usage.
func Print(w io.Writer, cmd *cobra.Command, err error, hint func(error) string) {
	var f *Error
	var p *parallel.PanicError
	switch why := OfOutput(err); {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, process.Interrupted)
		return
	case errors.As(err, &p):
		const request = "please report this to the maintainers of opm, with the lines that follow"
		f = &Error{p.Error(), fmt.Sprintf("opm: %s\n%s", request, p.Stack)}
	case why != nil:
		f = &Error{Reason: fmt.Sprintf("write output: %v", why)}
	default:
		f = list(w, Flatten(err), hint)
	}
	if f.Reason != "" {
		fmt.Fprintf(w, "Error: %s\n", legible.Lines(f.Reason))
	}
	fmt.Fprint(w, f.After)
	if _, ok := errors.AsType[cmdline.Error](err); ok {
		fmt.Fprintf(w, "usage: %s\nSee \"%s --help\".\n", help.UsageLine(cmd), cmd.CommandPath())
	}
}

// list prints errors, except for a single error without a position, and returns the failure to print after them.
func list(w io.Writer, errs []error, hint func(error) string) *Error {
	f := &Error{Reason: Reason(errs), After: hint(errs[0])}
	shown := errs
	if len(errs) > MaxErrors+1 { // the line about a single error would be no shorter
		shown = errs[:MaxErrors]
	}
	if _, hasPlace := errs[0].(*declcfg.Error); hasPlace || len(errs) > 1 { //nolint:errorlint // a wrapper adds text
		for _, err := range shown {
			fmt.Fprintln(w, Line("", err))
		}
	}
	if more := len(errs) - len(shown); more > 0 {
		f.After += fmt.Sprintf("opm: %s not printed\n", plural.Of(more, "more error"))
	}
	return f
}

// Line returns the line about an error: with its position, or else with a heading, such as the name of a catalog; ""
// for none.
func Line(heading string, err error) string {
	if e, ok := err.(*declcfg.Error); ok { //nolint:errorlint // a wrapper adds text
		return Placed(e.Pos, problem.Error, e.Message())
	}
	return "opm: error: " + heading + legible.Lines(err.Error())
}

// Reason returns the message and the position of the first of some errors, and their number.
func Reason(errs []error) string {
	if e, ok := errs[0].(*declcfg.Error); ok { //nolint:errorlint // a wrapper adds text
		return problem.First(legible.Text(e.Message()), e.Pos, len(errs))
	}
	return problem.First(errs[0].Error(), declcfg.Pos{}, len(errs))
}

// Placed returns a message with its position, escaped for terminals.
func Placed(pos declcfg.Pos, severity problem.Severity, what string) string {
	p := problem.Problem{Severity: severity, Pos: pos, Message: what}
	return p.String()
}
