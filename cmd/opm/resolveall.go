package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/list"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// resolveAllFlags are the flags of resolve --all.
type resolveAllFlags struct {
	reportFlags
	on bool
}

// resolveFormats are those without --all.
var resolveFormats = []string{"text", "json", "yaml", "dot"}

func (f *resolveAllFlags) add(cmd *cobra.Command) {
	f.rules = resolve.Rules
	cmd.Flags().BoolVar(&f.on, "all", false, "check what happens to every channel and bundle of the first CATALOG")
	f.reportFlags.add(cmd)
}

// check returns an error for formats that a mode does not have.
func (f *resolveAllFlags) check(cmd *cobra.Command, format string) error {
	switch {
	case format == "dot" && f.on:
		return usageError{errors.New("--output dot is for one package, not for --all")}
	case format == "dot" && cmd.Flags().Changed("state"):
		return usageError{errors.New("--output dot is for one package, not for --state")}
	case f.on:
		return nil
	}
	if !slices.Contains(resolveFormats, format) {
		return usageError{fmt.Errorf("--output %s needs --all", format)}
	}
	return nil
}

// runAll checks all packages of the first catalog.
func (f *resolveFlags) runAll(cmd *cobra.Command, args []string) error {
	_, _, ref := resolve.SplitCatalogName(args[0])
	c, err := f.all.read(ref)
	if err != nil {
		return err
	}
	checked, err := f.checkAll(cmd, args)
	if err != nil {
		return err
	}
	var tallies []string
	for _, t := range checked.Tallies() {
		tallies = append(tallies, t.OLM+": "+t.Summary())
	}
	return f.all.print(cmd, textOutput(cmd), f.format, c, checked.Report(), tallies...)
}

// checkAll reads the catalogs, and closes them again.
func (f *resolveFlags) checkAll(cmd *cobra.Command, args []string) (*resolve.Checked, error) {
	done := display{cmd}.Start("resolving")
	defer done()
	catalogs, closeAll, err := f.images.readCatalogs(cmd, args)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	setup, err := f.setup(catalogs)
	if err != nil {
		return nil, err
	}
	if _, err := list.Choose(catalogs[0].Index, optional(f.pkg)...); err != nil {
		return nil, err
	}
	w := display{cmd}
	check := resolve.Check{
		Classic: f.olm != olmV1, V1: f.olm != olmClassic, Namespace: setup.Classic, Package: f.pkg,
		Options: resolve.Options{Timeout: f.timeout},
		Start:   func(total int) { w.Count(total, "packages") }, Checked: w.Did,
	}
	check.Namespace.Subscriptions = nil
	return check.Run(cmd.Context())
}
