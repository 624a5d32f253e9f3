package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// exactArgs takes exactly the arguments of those names. Its errors are worded for people, unlike those of cobra.
func exactArgs(names ...string) cobra.PositionalArgs { return rangeArgs(len(names), names...) }

// rangeArgs takes the arguments of those names, of which the first least are needed.
func rangeArgs(least int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError{fmt.Errorf("the argument %s is missing", names[len(args)])}
		case len(args) > len(names):
			return usageError{fmt.Errorf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}

// atLeastOne takes one argument of that name, and more.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("the argument %s is missing", name)}
		}
		return nil
	}
}

// noSuchCommand refuses arguments where the name of a command is wanted.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		hint = fmt.Sprintf(" (did you mean %q?)", names[0])
	}
	return usageError{fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)}
}

// exclude makes the flag one refuse to be given together with any of the others.
func exclude(cmd *cobra.Command, one string, others ...string) {
	for _, other := range others {
		cmd.MarkFlagsMutuallyExclusive(one, other) // so that completion leaves it out
	}
	before := cmd.PreRunE
	// This runs before the check of cobra, whose error is hard to read.
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		for _, other := range others {
			if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
				return usageError{fmt.Errorf("--%s and --%s exclude each other", one, other)}
			}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}
