package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// whoCanWhat prints what operators are granted, and to whom their APIs are opened, in place of a simulation: those of
// the state, and those that the catalogs would install.
func (f *simulateFlags) whoCanWhat(cmd *cobra.Command) error {
	done := progress(cmd, "reading")
	defer done()
	state, catalogs, closeAll, err := f.state.read(cmd, &f.images)
	if err != nil {
		return err
	}
	defer closeAll()
	operators := rbac.OfState(state)
	for _, c := range catalogs {
		if c.Failure == nil {
			operators = append(operators, rbac.OfCatalog(c)...)
		}
	}
	done()
	return writeReport(outputAs(cmd, f.format), operators, f.format,
		func(w io.Writer) error { return rbac.WriteText(w, operators) },
		func(w io.Writer) error { return rbac.WriteMarkdown(w, operators) })
}
