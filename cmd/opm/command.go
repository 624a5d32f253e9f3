package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/reference"
)

// A command declares a command of opm, of which [command.cobra] makes the command of cobra. A command line is checked
// and run in this order:
//
//  1. Flags that the mode does not use are errors.
//  2. The arguments are checked, with CATALOG in its place if --each is given. With --rules, all are accepted.
//  3. Required flags, and flags that exclude each other, are checked: [checkFlags].
//  4. With --rules, the rules are printed. Otherwise run is called, with --each once for each catalog, while the name
//     of the work is shown.
//  5. The result is printed.
type command struct {
	Use, Short, Long, Example string // see [cobra.Command]

	args     cobra.PositionalArgs // checks the arguments; nil means [wantArgs] of Use
	complete cobra.CompletionFunc // completes the arguments; nil means by their names in Use

	flags   func(*cobra.Command) // adds the flags, apart from those that the fields below stand for; nil adds none
	formats []output.Format      // of -o, the first is the default; nil if flags adds -o, or for a command without it
	images  *imageFlags          // the flags of a command that reads catalogs; nil for none
	report  *reportFlags         // has --rules, which flags adds; nil for none
	each    *eachFlag            // --each; nil for none
	modes   modes                // nil means that all flags can be combined

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
		addOutput(cmd, new(string), c.formats...)
	}
	if c.images != nil {
		addObjectLimit(cmd)
		c.images.add(cmd)
		c.images.each = c.each
	}
	c.modes.mark(cmd)
	if c.each != nil {
		c.each.add(cmd)
	}
	return cmd
}

// check checks the flags against the mode, and then the arguments.
func (c command) check(cmd *cobra.Command, args []string) error {
	if err := c.modes.check(cmd); err != nil || c.report.lists() {
		return err
	}
	check := c.args
	if check == nil {
		check = wantArgs(c.usage())
	}
	err := check(cmd, c.each.insert(args, "CATALOG"))
	if c.each.given() && err != nil && strings.HasPrefix(err.Error(), "unexpected argument") {
		return usageError{fmt.Errorf("%w (--each takes the place of CATALOG)", err)}
	}
	return err
}

func (c command) completeArgs(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if with := withFirstOfEach(cmd, nil); len(with) > 0 {
		args = c.each.insert(args, with[0])
	}
	switch {
	case c.report.lists():
		return c.report.rules().Names(), cobra.ShellCompDirectiveNoFileComp
	case c.complete != nil:
		return c.complete(cmd, args, start)
	}
	return completeUsage(c.usage())(cmd, args, start)
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
		return printRules(textOutput(cmd), c.report.rules(), args)
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

// arguments are the arguments that a usage line names, such as CATALOG [PACKAGE...].
type arguments struct {
	names []string
	least int  // the number of required arguments
	many  bool // one of them can be repeated
}

// argumentsOf reads the arguments in front of the first flag. The name of FILE|DIRECTORY is FILE, the name of
// [NAME=]CATALOG is CATALOG, and a choice of words in lower case is its own name.
func argumentsOf(usage string) (a arguments) {
	isOptional := false
	for word := range strings.FieldsSeq(usage) {
		if strings.HasPrefix(word, "-") {
			break
		}
		if i := strings.Index(word, "=]"); i >= 0 {
			word = word[i+len("=]"):]
		}
		isOptional = isOptional || strings.HasPrefix(word, "[")
		if !isOptional {
			a.least++
		}
		a.many = a.many || strings.HasSuffix(strings.TrimSuffix(word, "]"), "...")
		name := strings.Trim(word, "[].")
		if name == strings.ToUpper(name) {
			name, _, _ = strings.Cut(name, "|")
		}
		a.names = append(a.names, name)
	}
	return a
}

// wantArgs requires the arguments that a usage line names, such as CATALOG [PACKAGE...]; "" accepts none. Its errors
// are easier to read than cobra's.
func wantArgs(usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch want := argumentsOf(usage); {
		case len(args) < want.least:
			return usageError{fmt.Errorf("argument %s is missing", want.names[len(args)])}
		case len(args) > len(want.names) && !want.many:
			return usageError{fmt.Errorf("unexpected argument %q", args[len(want.names)])}
		}
		return nil
	}
}

// checkFlags warns of deprecated flags and former spellings, and returns an error if a flag is missing that the command
// requires, or if two flags exclude each other. It runs before the checks of cobra, whose errors are hard to read.
func checkFlags(cmd *cobra.Command, _ []string) error {
	noteRenamed(cmd)
	return cmp.Or(checkRequired(cmd), checkExclusions(cmd))
}

// checkRequired warns of deprecated flags, and returns an error about the first missing flag, by name, that the command
// requires.
func checkRequired(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if instead := f.Annotations[deprecatedFlag]; instead != nil && f.Changed {
			fmt.Fprintf(cmd.ErrOrStderr(), "Flag --%s has been deprecated, %s\n", f.Name, instead[0]) // as upstream
		}
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed && err == nil {
			err = usageError{fmt.Errorf("--%s is missing", f.Name)}
		}
	})
	return err
}

// checkJobs checks the value of --jobs. 0 means the default of the command, and is valid only if the flag is not given.
func checkJobs(cmd *cobra.Command, jobs int) error {
	if cmd.Flags().Changed("jobs") && jobs < 1 {
		return usageError{errors.New("--jobs: want 1 or more")}
	}
	return nil
}
