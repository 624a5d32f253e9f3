package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A problemOutput says which problems are printed, and how.
type problemOutput struct {
	format        string
	baseline      string // the name of a file; "" is none
	writeBaseline bool
}

func (out *problemOutput) addFlags(cmd *cobra.Command) {
	choiceVar(cmd, &out.format, "output", "o", "", "output format (default text)",
		"text", "json", "yaml", "sarif", "github")
	cmd.Flags().StringVar(&out.baseline, "baseline", "", "do not report the problems listed in `FILE`")
	cmd.Flags().BoolVar(&out.writeBaseline, "write-baseline", false,
		"list the problems in the file of --baseline instead of reporting them")
	exclude(cmd, "write-baseline", "output")
	must(cmd.MarkFlagFilename("baseline", "json"))
}

func (out *problemOutput) check() error {
	if out.writeBaseline && out.baseline == "" {
		return usageError{errors.New("--write-baseline needs the file of --baseline")}
	}
	return nil
}

// print prints the problems that are not known, or makes them known if asked to. It fails if it printed errors.
func (out *problemOutput) print(cmd *cobra.Command, problems []*validate.Problem) error {
	if out.writeBaseline {
		return out.writeKnown(cmd.ErrOrStderr(), problems)
	}
	problems, err := out.unknown(problems)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	switch out.format {
	case "json":
		err = validate.WriteJSON(w, problems)
	case "yaml":
		err = validate.WriteYAML(w, problems)
	case "sarif":
		err = validate.WriteSARIF(w, problems, version)
	case "github":
		err = validate.WriteGitHub(w, problems)
	default:
		err = printProblems(cmd.ErrOrStderr(), problems)
	}
	if err == nil && hasErrors(problems) {
		err = errReported
	}
	return err
}

// unknown returns the problems that are not in the baseline.
func (out *problemOutput) unknown(problems []*validate.Problem) ([]*validate.Problem, error) {
	if out.baseline == "" {
		return problems, nil
	}
	text, err := os.ReadFile(out.baseline)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b, err := validate.ReadBaseline(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", out.baseline, err)
	}
	return b.Filter(problems), nil
}

// writeKnown makes all problems known, and says how many there are.
func (out *problemOutput) writeKnown(w io.Writer, problems []*validate.Problem) error {
	write := validate.NewBaseline(problems).Write
	if err := atomicfile.Write(out.baseline, atomicfile.Options{Replace: true}, write); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	_, err := fmt.Fprintf(w, "opm: wrote %s to %s\n", validate.Summary(problems), out.baseline)
	return err
}

// manyProblems is how many problems are worth a line that counts them, also where nobody watches.
const manyProblems = 100

// printProblems prints problems for people: with colours and a count on a terminal.
func printProblems(w io.Writer, problems []*validate.Problem) error {
	terminal := isTerminal(w)
	colour := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if err := validate.WriteText(w, problems, colour); err != nil {
		return err
	}
	if terminal || len(problems) >= manyProblems {
		_, err := fmt.Fprintf(w, "opm: %s\n", validate.Summary(problems))
		return err
	}
	return nil
}
