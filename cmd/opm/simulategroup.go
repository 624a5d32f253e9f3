package main

import (
	"fmt"
	"io"

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
	if err := writeGroupCheck(cmd.OutOrStdout(), check, f.format); err != nil {
		return err
	}
	if !check.May() {
		return errReported
	}
	return nil
}

func writeGroupCheck(w io.Writer, check *simulate.GroupCheck, format string) error {
	switch format {
	case "text":
		return check.WriteText(w)
	case "markdown":
		return check.WriteMarkdown(w)
	default:
		return writeValue(w, check, format)
	}
}
