package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A listing is one of the list commands. Its rows come from the packages of a valid catalog, in order.
type listing struct {
	name, short, example string
	onePackage           bool // takes the name of a package as a second argument
	columns              []string
	rows                 func([]*declcfg.PackageIndex) ([][]string, error)
}

var listings = []listing{
	{
		name: "packages", short: "List the packages of a catalog", example: "catalog",
		columns: []string{"NAME", "DISPLAY NAME", "DEFAULT CHANNEL"},
		rows:    packageRows,
	},
	{
		name: "channels", short: "List the channels of a catalog, or of one package", example: "catalog kiln",
		onePackage: true,
		columns:    []string{"PACKAGE", "CHANNEL", "HEAD"},
		rows:       channelRows,
	},
	{
		name: "bundles", short: "List the bundles of a catalog, or of one package, by channel", example: "catalog kiln",
		onePackage: true,
		columns:    []string{"PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"},
		rows:       bundleRows,
	},
}

// listCmd returns the list commands, as upstream has them below alpha or as they stand at the top.
func listCmd(alpha bool) *cobra.Command {
	path := "opm list"
	if alpha {
		path = "opm alpha list"
	}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what is in a catalog",
		Example: "  " + path + " packages catalog",
	}
	for _, l := range listings {
		cmd.AddCommand(l.command(path))
	}
	return cmd
}

func (l listing) command(path string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   l.name + " CATALOG",
		Short: l.short,
		Long: l.short + `. The catalog must be valid.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz) or "-" for standard input.`,
		Example:           fmt.Sprintf("  %s %s %s", path, l.name, l.example),
		Args:              exactArgs("CATALOG"),
		ValidArgsFunction: completeArgs(files),
		RunE:              l.run,
	}
	if l.onePackage {
		cmd.Use += " [PACKAGE]"
		cmd.Args = rangeArgs(1, "CATALOG", "PACKAGE")
		cmd.ValidArgsFunction = completeArgs(files, packages)
	}
	return cmd
}

func (l listing) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	done := progress(cmd, "reading")
	defer done()
	catalog, err := render.Open(ctx, args[:1], openOptions(cmd))
	if err != nil {
		return err
	}
	defer catalog.Close()
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, catalog.Sources...)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		done()
		return cmp.Or(printProblems(cmd.ErrOrStderr(), report.Problems), errReported)
	}
	chosen, err := choose(report.Index, args[1:])
	if err != nil {
		return err
	}
	rows, err := l.rows(chosen)
	if err != nil {
		return err
	}
	done()
	return printTable(cmd.OutOrStdout(), l.columns, rows)
}

// choose returns the package of that name, or all of them where there is no name.
func choose(index *declcfg.Index, name []string) ([]*declcfg.PackageIndex, error) {
	all := index.Packages()
	if len(name) == 0 {
		return all, nil
	}
	if p := index.Package(name[0]); p != nil {
		return []*declcfg.PackageIndex{p}, nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("no package %q%s: %w", name[0], nearest.Hint(name[0], names), declcfg.ErrNotFound)
}

// printTable prints rows below a header, in columns as wide as they need to be and two spaces apart.
func printTable(w io.Writer, columns []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range append([][]string{columns}, rows...) {
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}
