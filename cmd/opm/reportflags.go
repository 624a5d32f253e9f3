package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// addProblemFormat adds the flag -o for the format of problems.
func addProblemFormat(cmd *cobra.Command) {
	cmdline.ChoiceVar(cmd, new(string), "output", "o", string(problem.Text), "output format", problem.Formats()...)
}

// reportFlags are the flags of commands that report problems, except for the format.
type reportFlags struct {
	problems.Printer // its outputs and format are set when it prints

	listRules bool
	strict    bool
	disable   []string
	config    string
	baseline  string

	each    eachFlag           // only if the command has --each
	checked []problems.Checked // the catalogs of --each
}

// add adds the flags to a command.
func (f *reportFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Info, "info", false, "also print hints in text and github output")
	flags.StringSliceVar(&f.disable, "disable", nil, "ignore these comma-separated `RULES`")
	flags.BoolVar(&f.strict, "warnings-as-errors", false, "make every warning an error")
	flags.StringVar(&f.config, "config", "", "read `FILE` instead of the opm.yaml beside the catalog or bundle")
	flags.StringVar(&f.baseline, "baseline", "", "do not report the problems listed in `FILE`")
	flags.BoolVar(&f.Write, "write-baseline", false,
		"list the problems in the file of --baseline instead of reporting them")
	cmdline.Exclude(cmd, "write-baseline", "output")
	cmdline.Must(cmd.MarkFlagFilename("config", "yaml", "yml"))
	cmdline.Must(cmd.MarkFlagFilename("baseline", "json"))
	completion.With(cmd, completion.ListOf(func() []string { return f.Rules().Names() }), "disable")
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
	if err := checkRules(f.Rules(), f.disable); err != nil {
		return nil, err
	}
	c, err := readConfig(f.config, ref)
	if err != nil {
		return nil, err
	}
	if f.baseline != "" {
		c.Baseline = f.baseline
	}
	if f.Write && c.Baseline == "" {
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
		f.checked = append(f.checked, problems.Checked{Name: f.each.now.Name, Config: c, Report: report})
		return nil
	}
	return f.printAll(cmd, []problems.Checked{{Config: c, Report: report}})
}

// printAll prints the problems of one catalog or, with --each, of several.
func (f *reportFlags) printAll(cmd *cobra.Command, all []problems.Checked) error {
	f.Out, f.Err, f.Format, f.Version = dataOutput(cmd), cmd.ErrOrStderr(), cmdline.Format(cmd), thisBuild().Version
	var incomplete string
	if fail, ok := errors.AsType[*failure.Error](f.each.sumUp(nil)); ok {
		incomplete = fail.Reason
	}
	return f.Print(all, incomplete)
}
