package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/reference"
)

// A command declares a command of opm, of which [command.cobra] makes the command of cobra. A command line is checked
// and run in this order:
//
//  1. Flags that the mode does not use are errors.
//  2. The arguments are checked, with CATALOG in its place if --each is given. With --rules, all are accepted.
//  3. Required flags, and flags that exclude each other, are checked: [cmdline.CheckFlags].
//  4. With --rules, the rules are printed. Otherwise run is called, with --each once for each catalog, while the name
//     of the work is shown.
//  5. The result is printed.
type command struct {
	Use, Short, Long, Example string // see [cobra.Command]

	args     cobra.PositionalArgs // checks the arguments; nil means [cmdline.WantArgs] of Use
	complete cobra.CompletionFunc // completes the arguments; nil means by their names in Use

	flags   func(*cobra.Command) // adds the flags, apart from those that the fields below stand for; nil adds none
	formats []output.Format      // of -o, the first is the default; nil if flags adds -o, or for a command without it
	images  *imageFlags          // the flags of a command that reads catalogs; nil for none
	report  *reportFlags         // has --rules, which flags adds; nil for none
	each    *eachFlag            // --each; nil for none
	modes   cmdline.Modes        // nil means that all flags can be combined

	work string // shown as progress while the command runs; "" if run shows its own

	// run returns the answer, which is printed even if there is an error. nil prints nothing.
	run func(cmd *cobra.Command, args []string) (*output.Result, error)
	// do takes the place of run in a command that prints by itself, or not at all.
	do func(cmd *cobra.Command, args []string) error
	// end is called when the command ends, after the last catalog of --each; nil does nothing.
	end func()
}

// cobra returns the command of cobra.
func (c command) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use: c.Use, Short: c.Short, Long: c.Long, Example: c.Example,
		Args: c.check, ValidArgsFunction: c.completeArgs, RunE: c.runE,
	}
	if c.flags != nil {
		c.flags(cmd)
	}
	if c.formats != nil {
		cmdline.AddOutput(cmd, c.formats...)
	}
	if c.images != nil {
		addObjectLimit(cmd)
		c.images.add(cmd)
		c.images.each = c.each
	}
	c.modes.Mark(cmd)
	if c.each != nil {
		c.each.add(cmd)
	}
	return cmd
}

// check checks the flags against the mode, and then the arguments.
func (c command) check(cmd *cobra.Command, args []string) error {
	if err := c.modes.Check(cmd); err != nil || c.report.lists() {
		return err
	}
	check := c.args
	if check == nil {
		check = cmdline.WantArgs(c.usage())
	}
	err := check(cmd, c.each.insert(args, "CATALOG"))
	if c.each.given() && err != nil && strings.HasPrefix(err.Error(), "unexpected argument") {
		return cmdline.Errorf("%w (--each takes the place of CATALOG)", err)
	}
	return err
}

func (c command) completeArgs(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if with := completion.WithFirstOfEach(cmd, nil); len(with) > 0 {
		args = c.each.insert(args, with[0])
	}
	switch {
	case c.report.lists():
		return c.report.Rules().Names(), cobra.ShellCompDirectiveNoFileComp
	case c.complete != nil:
		return c.complete(cmd, args, start)
	}
	return completion.Usage(c.usage())(cmd, args, start)
}

// usage returns the arguments in Use.
func (c command) usage() string {
	_, usage, _ := strings.Cut(c.Use, " ")
	return usage
}

func (c command) runE(cmd *cobra.Command, args []string) error {
	if c.end != nil {
		defer c.end()
	}
	switch {
	case c.report.lists():
		return printRules(textOutput(cmd), c.report.Rules(), args)
	case !c.each.given() || c.each.purpose != "":
		return c.runOnce(cmd, args)
	case c.each.together:
		return c.runOnce(cmd, c.each.insert(args, ""))
	}
	return c.each.run(cmd, func(r *reference.Named) error { return c.runOnce(cmd, c.each.insert(args, r.Ref)) })
}

// runOnce runs the command and prints its answer, about one catalog if --each is given.
func (c command) runOnce(cmd *cobra.Command, args []string) error {
	done := func() {}
	if c.work != "" {
		done = display(cmd).Start(c.work)
		defer done()
	}
	if c.do != nil {
		return c.do(cmd, args)
	}
	answer, err := c.run(cmd, args)
	if answer == nil {
		return err
	}
	done()
	return cmp.Or(c.each.print(cmd, answer), err)
}

// checkJobs checks the value of --jobs. 0 means the default of the command, and is valid only if the flag is not given.
func checkJobs(cmd *cobra.Command, jobs int) error {
	if cmd.Flags().Changed("jobs") && jobs < 1 {
		return cmdline.Errorf("--jobs: want 1 or more")
	}
	return nil
}
