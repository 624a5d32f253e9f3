package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/simulate"
)

// checkGroup prints what the OperatorGroup in a file would do to the cluster.
func (f *simulateFlags) checkGroup(cmd *cobra.Command) error {
	if err := f.state.check(); err != nil {
		return err
	}
	done := progress(cmd, "reading")
	defer done()
	state, err := f.state.readState(cmd)
	if err != nil {
		return err
	}
	added, err := (&stateFlags{paths: []string{f.group}}).readState(cmd)
	if err != nil {
		return err
	}
	check, err := simulate.CheckGroup(cmd.Context(), state, added)
	if err != nil {
		return fmt.Errorf("--check-operatorgroup %s: %w", f.group, err)
	}
	done()
	if err := writeReport(outputAs(cmd, f.format), check, f.format, check.WriteText, check.WriteMarkdown); err != nil {
		return err
	}
	if !check.May() {
		return failed("the OperatorGroup would break operators: see the output")
	}
	return nil
}
