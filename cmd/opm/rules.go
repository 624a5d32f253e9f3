package main

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/across"
	"github.com/opm-toolchain/opm/internal/olm/diagnose"
	"github.com/opm-toolchain/opm/internal/olm/updatecheck"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A ruleTable is the rules whose problems a command reports.
type ruleTable struct {
	command string // with the flag of its mode
	rules   *problem.Rules
	fixed   bool // opm.yaml and flags do not set the levels
}

// ruleTables returns the rules of all commands, which share opm.yaml.
func ruleTables() []ruleTable {
	return []ruleTable{
		{command: "opm validate", rules: validateRules()}, {command: "opm bundle validate", rules: bundle.Rules()},
		{command: "opm check-updates", rules: updatecheck.Rules()},
		{command: "opm check-images", rules: imagecheck.Rules()},
		{command: "opm resolve --all", rules: resolve.Rules()}, {command: "opm plan", rules: across.Rules()},
		{command: "opm diagnose", rules: diagnose.Rules(), fixed: true},
	}
}

// allRules returns the rules of all commands as one table.
func allRules() *problem.Rules { return joinRules(ruleTables()) }

// leveledRules returns the rules whose levels opm.yaml can set.
var leveledRules = sync.OnceValue(func() *problem.Rules {
	return joinRules(slices.DeleteFunc(ruleTables(), func(t ruleTable) bool { return t.fixed }))
})

func joinRules(tables []ruleTable) *problem.Rules {
	var groups []*problem.Group
	for _, t := range tables {
		groups = append(groups, t.rules.Groups...)
	}
	return problem.NewRules("", nil, groups...)
}

// readConfig reads the named file or, for "", the opm.yaml beside ref; see [opmyaml.Read].
func readConfig(name, ref string) (*opmyaml.Config, error) {
	var hints nearest.Finder
	return opmyaml.Read(name, ref, leveledRules, func(rule string) error {
		rules := leveledRules()
		if err := otherRule(rules, rule); err != nil {
			return err
		}
		return fmt.Errorf("unknown rule %q%s", rule, hints.Hint(rule, rules.Names()))
	})
}

func rulesCmd() *cobra.Command {
	return command{
		Use:   "rules [NAME...]",
		Short: "List the rules of all checks, or explain some",
		Long: `List the rules of all commands that report problems, or explain the named ones: the requirement,
the consequence of breaking it and, of rules for catalogs and bundles, how to fix it and examples.

A rule has one level for all commands: error, warning, info or off. opm.yaml beside the catalog
sets it, and --disable turns rules off for one run. The levels of opm diagnose are fixed.`,
		Example: `  opm rules
  opm rules channel-head missing`,
		complete: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return allRules().Names(), cobra.ShellCompDirectiveNoFileComp
		},
		do: func(cmd *cobra.Command, names []string) error {
			w := textOutput(cmd)
			if len(names) > 0 {
				return printRules(w, allRules(), names)
			}
			return printTables(w, ruleTables())
		},
	}.cobra()
}

// printTables prints tables of rules with their titles.
func printTables(w io.Writer, tables []ruleTable) error {
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n\n", t.command)
		if err := printRules(w, t.rules, nil); err != nil {
			return err
		}
	}
	return nil
}

// printRules prints a table of the rules, or explains the named ones.
func printRules(w io.Writer, rules *problem.Rules, names []string) error {
	if err := checkRules(rules, names); err != nil {
		return err
	}
	if len(names) == 0 {
		return rules.WriteTable(w)
	}
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := rules.WriteRule(w, name); err != nil {
			return err
		}
	}
	return nil
}

// checkRules returns an error if a name is not the name of a rule in a table.
func checkRules(rules *problem.Rules, names []string) error {
	err := rules.CheckNames(names)
	if err == nil {
		return nil
	}
	for _, name := range names {
		if err := otherRule(rules, name); err != nil {
			return cmdline.Invalid(err)
		}
	}
	return cmdline.Errorf("%w; opm rules lists them", err)
}

// otherRule returns an error if a name is not the name of a rule in rules, but of one of another command.
func otherRule(rules *problem.Rules, name string) error {
	for _, t := range ruleTables() {
		switch {
		case rules.Has(name) || !t.rules.Has(name):
		case t.fixed:
			return fmt.Errorf("rule %q is of %s, whose levels are fixed", name, t.command)
		default:
			return fmt.Errorf("rule %q is of %s, not of this command", name, t.command)
		}
	}
	return nil
}
