package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// addProblemFormat adds the flag for the format of problems, which upstream has for something else in one command.
func addProblemFormat(cmd *cobra.Command, format *string, short, byDefault, usage string) {
	choiceVar(cmd, format, "output", short, byDefault, usage, problem.Formats()...)
}

// printReport prints problems: as text to the writer for it, in other formats to standard output. It fails if there are
// errors among them.
func printReport(cmd *cobra.Command, text io.Writer, format string, report *problem.Report) error {
	report.Version = thisBuild().OpmVersion
	var err error
	if format == "" || format == string(problem.Text) {
		err = printProblems(text, report.Problems)
	} else {
		err = report.Write(cmd.OutOrStdout(), problem.Format(format))
	}
	if err == nil && problem.HasErrors(report.Problems) {
		err = errReported
	}
	return err
}

// A baselineFile is the file that problems are known by.
type baselineFile struct {
	name  string // "" for none
	write bool
}

func (f *baselineFile) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "baseline", "", "do not report the problems listed in `FILE`")
	cmd.Flags().BoolVar(&f.write, "write-baseline", false,
		"list the problems in the file of --baseline instead of reporting them")
	exclude(cmd, "write-baseline", "output")
	must(cmd.MarkFlagFilename("baseline", "json"))
}

// unknown returns the problems that are not in the baseline.
func (f *baselineFile) unknown(problems []*problem.Problem) ([]*problem.Problem, error) {
	if f.name == "" {
		return problems, nil
	}
	text, err := os.ReadFile(f.name)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b, err := problem.ReadBaseline(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", f.name, err)
	}
	return b.Filter(problems), nil
}

// writeKnown makes all problems known, and says how many there are.
func (f *baselineFile) writeKnown(w io.Writer, problems []*problem.Problem) error {
	write := problem.NewBaseline(problems).Write
	if err := atomicfile.Write(f.name, atomicfile.Options{Replace: true}, write); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	_, err := fmt.Fprintf(w, "opm: wrote %s to %s\n", problem.Summary(problems), f.name)
	return err
}

// manyProblems is how many problems are worth a line that counts them, also where nobody watches.
const manyProblems = 100

// printProblems prints problems for people: with colours and a count on a terminal.
func printProblems(w io.Writer, problems []*problem.Problem) error {
	terminal := isTerminal(w)
	colour := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if err := problem.WriteText(w, problems, colour); err != nil {
		return err
	}
	if terminal || len(problems) >= manyProblems {
		_, err := fmt.Fprintf(w, "opm: %s\n", problem.Summary(problems))
		return err
	}
	return nil
}
