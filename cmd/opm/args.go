package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exactArgs requires the named arguments. Its errors are easier to read than those of cobra.
func exactArgs(names ...string) cobra.PositionalArgs { return rangeArgs(len(names), names...) }

// rangeArgs accepts the named arguments, of which the first least are required.
func rangeArgs(least int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError{fmt.Errorf("argument %s is missing", names[len(args)])}
		case len(args) > len(names):
			return usageError{fmt.Errorf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}

// atLeastOne requires one or more arguments.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("argument %s is missing", name)}
		}
		return nil
	}
}

// requireFlags returns an error if a flag is missing that the command requires. It runs before the check of cobra,
// whose error is hard to read.
func requireFlags(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed && err == nil {
			err = usageError{fmt.Errorf("--%s is missing", f.Name)}
		}
	})
	return err
}

// exclude makes the flag one mutually exclusive with each of the others.
func exclude(cmd *cobra.Command, one string, others ...string) {
	for _, other := range others {
		cmd.MarkFlagsMutuallyExclusive(one, other) // for completion
	}
	before := cmd.PreRunE
	// This runs before the check of cobra, whose error is hard to read.
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		for _, other := range others {
			if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
				return usageError{fmt.Errorf("--%s and --%s cannot be combined", one, other)}
			}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// checkJobs checks the value of --jobs, which 0 leaves to the command if it is not given.
func checkJobs(cmd *cobra.Command, jobs int) error {
	if cmd.Flags().Changed("jobs") && jobs < 1 {
		return usageError{errors.New("--jobs: want 1 or more")}
	}
	return nil
}
