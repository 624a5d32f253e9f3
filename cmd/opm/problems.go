package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// addProblemFormat adds the flag -o for the format of problems.
func addProblemFormat(cmd *cobra.Command) {
	cmdline.ChoiceVar(cmd, new(string), "output", "o", string(problem.Text), "output format", problem.Formats()...)
}

// reportFlags are the flags of commands that report problems, except for the format.
type reportFlags struct {
	rules    func() *problem.Rules // of the command
	onStdout bool                  // text is on standard output, not on standard error

	listRules     bool
	info          bool
	strict        bool
	disable       []string
	config        string
	baseline      string
	writeBaseline bool

	upstream bool // upstream has the command, and prints nothing on standard error in the formats json and yaml
	partial  bool // the command looks for some problems only, so the others in a baseline are not stale

	each    eachFlag         // only if the command has --each
	checked []checkedCatalog // the catalogs of --each
}

// A checkedCatalog is a catalog whose problems are not printed yet.
type checkedCatalog struct {
	name   string // "" without --each
	config *opmyaml.Config
	report *problem.Report
}

// add adds the flags to a command.
func (f *reportFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.info, "info", false, "also print hints in text and github output")
	flags.StringSliceVar(&f.disable, "disable", nil, "ignore these comma-separated `RULES`")
	flags.BoolVar(&f.strict, "warnings-as-errors", false, "make every warning an error")
	flags.StringVar(&f.config, "config", "", "read `FILE` instead of the opm.yaml beside the catalog or bundle")
	flags.StringVar(&f.baseline, "baseline", "", "do not report the problems listed in `FILE`")
	flags.BoolVar(&f.writeBaseline, "write-baseline", false,
		"list the problems in the file of --baseline instead of reporting them")
	cmdline.Exclude(cmd, "write-baseline", "output")
	cmdline.Must(cmd.MarkFlagFilename("config", "yaml", "yml"))
	cmdline.Must(cmd.MarkFlagFilename("baseline", "json"))
	completion.With(cmd, completion.ListOf(func() []string { return f.rules().Names() }), "disable")
}

// lists reports whether --rules is given. A command without reportFlags does not list rules.
func (f *reportFlags) lists() bool { return f != nil && f.listRules }

// addRules adds --rules, the former spelling of opm rules, which excludes the flags of add and others.
func (f *reportFlags) addRules(cmd *cobra.Command, others ...string) {
	cmd.Flags().BoolVar(&f.listRules, "rules", false, "list the rules, or explain those that are named as arguments")
	cmdline.RenameFlag(cmd.Flags(), "rules", "opm rules")
	cmdline.Exclude(cmd, "rules", "output", "info", "disable", "warnings-as-errors", "config", "baseline",
		"write-baseline")
	cmdline.Exclude(cmd, "rules", others...)
}

// read returns the configuration for a reference, with the changes by flags.
func (f *reportFlags) read(ref string) (*opmyaml.Config, error) {
	if err := checkRules(f.rules(), f.disable); err != nil {
		return nil, err
	}
	c, err := readConfig(f.config, ref)
	if err != nil {
		return nil, err
	}
	if f.baseline != "" {
		c.Baseline = f.baseline
	}
	if f.writeBaseline && c.Baseline == "" {
		return nil, cmdline.Errorf("--write-baseline needs the file of --baseline")
	}
	c.Levels.Strict = f.strict
	for _, name := range f.disable {
		c.Levels.Rules[name] = problem.Off
		for _, rules := range c.Levels.Packages {
			delete(rules, name)
		}
	}
	return c, nil
}

// forEach returns the flag --each of the command. The problems of all catalogs are one report.
func (f *reportFlags) forEach() *eachFlag {
	f.each.finish = func(cmd *cobra.Command) error { return f.printAll(cmd, f.checked) }
	return &f.each
}

// run prints the problems that check finds in a catalog or a bundle, for which it has a configuration.
func (f *reportFlags) run(
	cmd *cobra.Command, ref string, check func(*opmyaml.Config) (*problem.Report, error),
) error {
	c, err := f.read(ref)
	if err != nil {
		return err
	}
	report, err := check(c)
	if err != nil {
		return err
	}
	return f.print(cmd, c, report)
}

// print prints the problems of a report with the levels and the baseline of the configuration. It prints the lines of
// the summary to standard error. It returns an error if one of the problems is an error. With --each, nothing is
// printed before the last catalog is checked.
func (f *reportFlags) print(cmd *cobra.Command, c *opmyaml.Config, report *problem.Report) error {
	if f.each.given() {
		f.checked = append(f.checked, checkedCatalog{f.each.now.Name, c, report})
		return nil
	}
	return f.printAll(cmd, []checkedCatalog{{"", c, report}})
}

// printAll prints the problems of one catalog or, with --each, of several.
func (f *reportFlags) printAll(cmd *cobra.Command, all []checkedCatalog) error {
	if len(all) == 0 {
		return nil
	}
	report, notes := *all[0].report, ""
	if fail, ok := errors.AsType[*failure](f.each.sumUp(nil)); ok {
		report.Incomplete = fail.reason
	}
	if f.writeBaseline && report.Incomplete != "" {
		return fmt.Errorf("the baseline is not written: %s", report.Incomplete)
	}
	report.Problems, report.Version, report.Counts = nil, thisBuild().Version, sumOfCounts(all)
	if err := f.writeTables(cmd, all); err != nil {
		return err
	}
	for _, b := range f.byBaseline(all) {
		if f.writeBaseline {
			if err := f.replaceBaseline(cmd.ErrOrStderr(), b.name, b.problems); err != nil {
				return err
			}
			continue
		}
		problems, stale, err := unknown(b.name, b.problems)
		if err != nil {
			return err
		}
		report.Problems = append(report.Problems, problems...)
		notes += f.staleNotes(b.name, stale)
	}
	if f.writeBaseline {
		return nil
	}
	for _, one := range all {
		for _, line := range one.report.Summary {
			if one.name != "" {
				line = legible.Name(one.name) + ": " + line
			}
			notes += "opm: " + line + "\n"
		}
	}
	return withNotes(cmd, f.write(cmd, &report), notes)
}

// writeTables writes the tables of reports, even if a baseline cannot be read.
func (f *reportFlags) writeTables(cmd *cobra.Command, all []checkedCatalog) error {
	if f.writeBaseline {
		return nil
	}
	for _, one := range all {
		if err := one.report.WriteTables(textOutput(cmd), problem.Format(cmdline.Format(cmd))); err != nil {
			return err
		}
	}
	return nil
}

// sumOfCounts adds the counts of reports.
func sumOfCounts(all []checkedCatalog) map[string]int {
	var sum map[string]int
	for _, one := range all {
		for key, n := range one.report.Counts {
			if sum == nil {
				sum = map[string]int{}
			}
			sum[key] += n
		}
	}
	return sum
}

// write writes a report as text, or in another format to standard output, and fails if it has errors.
func (f *reportFlags) write(cmd *cobra.Command, report *problem.Report) error {
	format := cmdline.Format(cmd)
	if format == output.Text {
		w := cmd.ErrOrStderr()
		if f.onStdout {
			w = textOutput(cmd)
		}
		return printProblems(w, cmd.ErrOrStderr(), report.Problems, f.info)
	}
	if problem.Format(format) == problem.GitHub { // annotations are for people, too
		report.Problems = problem.Shown(report.Problems, f.info)
	}
	err := report.Write(outputAs(cmd, format), problem.Format(format))
	if err != nil || !problem.HasErrors(report.Problems) {
		return err
	}
	if f.upstream && (format == output.JSON || format == output.YAML) {
		return failed("") // the output has the reason, and callers may read both streams as one
	}
	return failed(problem.Reason(report.Problems))
}

// withNotes prints notes about a report, after the line with the reason if err is a failure.
func withNotes(cmd *cobra.Command, err error, notes string) error {
	if fail, ok := errors.AsType[*failure](err); ok {
		return fail.with(notes)
	}
	if err == nil {
		_, err = io.WriteString(cmd.ErrOrStderr(), notes)
	}
	return err
}

// manyProblems is the number of problems from which a summary is printed even if there is no terminal.
const manyProblems = 100

// printProblems prints problems for people, with colours on a terminal, and hints only if info is set. If there are
// errors, it returns a failure. On a terminal, or if there are many problems or some are not shown, it adds the counts
// at the end: on summary, or in the failure.
func printProblems(w, summary io.Writer, problems []*problem.Problem, info bool) error {
	shown := problem.Shown(problems, info)
	terminal := console.IsTerminal(w)
	colour := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if colour {
		w = legible.Unwrap(w) // colours are control characters
	}
	if err := problem.WriteText(w, shown, colour); err != nil {
		return err
	}
	var sum string
	hides := len(shown) < len(problems)
	if terminal || len(shown) > 0 && (hides || len(problems) >= manyProblems || problem.Folds(shown)) {
		sum = "opm: " + problem.SumUp(problems, shown)
	}
	if problem.HasErrors(problems) {
		if hint := problem.RootHint(shown); hint != "" {
			sum = "hint: " + hint + "\n" + sum
		}
		return &failure{problem.Reason(problems), sum}
	}
	_, err := io.WriteString(summary, sum)
	return err
}
