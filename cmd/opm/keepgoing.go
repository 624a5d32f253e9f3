package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

const keepGoingUsage = "leave out packages that are not valid, and warn of each"

// addKeepGoing adds the flag by which a catalog is opened without its invalid packages.
func (f *imageFlags) addKeepGoing(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keepGoing, "keep-going", false, keepGoingUsage)
}

// withhold takes the packages that are not valid out of a catalog, and warns of them. It is an error if no other
// package is there.
func withhold(cmd *cobra.Command, catalog *render.Catalog) error {
	report, err := validate.Catalog(cmd.Context(), validate.Options{ErrorsOnly: true}, catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		return err
	}
	held := report.Withheld()
	if held == nil {
		return nil
	}
	if held.HasAll(report.Index) {
		return reportProblems(cmd, report.Problems)
	}
	for _, name := range held.Names() {
		p := held[name]
		what := fmt.Sprintf("%s: %s [%s]", validate.WithheldText(name), p.Message, p.Rule)
		fmt.Fprintln(cmd.ErrOrStderr(), placed(p.Pos, problem.Warning, what))
	}
	catalog.Sources = held.Without(catalog.Sources...)
	return nil
}
