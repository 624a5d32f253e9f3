package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
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
		name: "channels", short: "List the channels of a catalog, or of one package", example: "catalog my-operator",
		onePackage: true,
		columns:    []string{"PACKAGE", "CHANNEL", "HEAD"},
		rows:       channelRows,
	},
	{
		name: "bundles", short: "List the bundles of a catalog, or of one package, by channel", example: "catalog my-operator",
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
		Use:     l.name + " CATALOG",
		Short:   l.short,
		Long:    l.short + ". The catalog must be valid.",
		Example: fmt.Sprintf("  %s %s %s", path, l.name, l.example),
		Args:    exactArgs("CATALOG"),
	}
	if l.onePackage {
		cmd.Use += " [PACKAGE]"
		cmd.Args = rangeArgs(1, "CATALOG", "PACKAGE")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer progress(cmd, "reading")()
		return withValidCatalog(cmd, args[0], func(index *declcfg.Index) error {
			packages := index.Packages()
			if len(args) == 2 {
				p := index.Package(args[1])
				if p == nil {
					return noPackage(args[1], packages)
				}
				packages = []*declcfg.PackageIndex{p}
			}
			rows, err := l.rows(packages)
			if err != nil {
				return err
			}
			return printTable(cmd.OutOrStdout(), l.columns, rows)
		})
	}
	return cmd
}

// withValidCatalog calls use with the index of a catalog, unless upstream would refuse the catalog.
func withValidCatalog(cmd *cobra.Command, ref string, use func(*declcfg.Index) error) error {
	ctx := cmd.Context()
	catalog, err := render.Open(ctx, []string{ref}, openOptions(cmd))
	if err != nil {
		return err
	}
	defer catalog.Close()
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, catalog.Sources...)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		if err := validate.WriteText(cmd.ErrOrStderr(), report.Problems, false); err != nil {
			return err
		}
		return errReported
	}
	return use(report.Index)
}

func noPackage(name string, packages []*declcfg.PackageIndex) error {
	var names []string
	for _, p := range packages {
		names = append(names, p.Name)
	}
	return fmt.Errorf("no package %q%s: %w", name, nearest.Hint(name, names), declcfg.ErrNotFound)
}

func packageRows(packages []*declcfg.PackageIndex) ([][]string, error) {
	var rows [][]string
	for _, p := range packages {
		channel := p.Packages[0].Value.DefaultChannel
		name, err := displayName(p, channel)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{p.Name, name, channel})
	}
	return rows, nil
}

// displayName returns the display name that the head of the channel carries in its manifests.
func displayName(p *declcfg.PackageIndex, channel string) (string, error) {
	i := slices.IndexFunc(p.Channels, func(c declcfg.Indexed[declcfg.Channel]) bool { return c.Value.Name == channel })
	head := headOf(p.Channels[i].Value)
	for _, b := range p.Bundles {
		if b.Value.Name != head {
			continue
		}
		v, err := b.Meta.Decode()
		if err != nil {
			return "", err
		}
		return v.(*declcfg.Bundle).ManifestDisplayName(), nil
	}
	return "", nil
}

func headOf(c *declcfg.Channel) string { return graph.New(c.Entries).Heads()[0] }

func channelRows(packages []*declcfg.PackageIndex) ([][]string, error) {
	var rows [][]string
	for _, p := range packages {
		for _, c := range p.Channels {
			rows = append(rows, []string{p.Name, c.Value.Name, headOf(c.Value)})
		}
	}
	slices.SortStableFunc(rows, slices.Compare)
	return rows, nil
}

func bundleRows(packages []*declcfg.PackageIndex) ([][]string, error) {
	var rows [][]string
	for _, p := range packages {
		images := make(map[string]string, len(p.Bundles))
		for _, b := range p.Bundles {
			images[b.Value.Name] = b.Value.Image
		}
		for _, c := range p.Channels {
			for _, e := range c.Value.Entries {
				rows = append(rows, []string{p.Name, c.Value.Name, e.Name, e.Replaces,
					strings.Join(e.Skips, ","), e.SkipRange, images[e.Name]})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
	})
	return rows, nil
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
