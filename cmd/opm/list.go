package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/list"
)

// A listing describes a list command.
type listing struct {
	name, short string
	keys        string // in JSON and YAML, for the help
	example     string // arguments

	args  []string // CATALOG, and PACKAGE where it takes one
	least int      // required arguments

	write func(*cobra.Command, []*declcfg.PackageIndex, list.Options, list.Format) error
}

var listings = []listing{
	{
		name: "packages", short: "List the packages of a catalog", example: "catalog",
		keys: `name, displayName, defaultChannel, head and headVersion (of that channel), channels and
bundles (counts)`,
		args: []string{"CATALOG"}, least: 1, write: rowsOf(list.Packages),
	},
	{
		name: "channels", short: "List the channels of a catalog, or of one package", example: "catalog kiln",
		keys: "package, name, head, headVersion, default (true or false), bundles (count)",
		args: []string{"CATALOG", "PACKAGE"}, least: 1, write: rowsOf(list.Channels),
	},
	{
		name: "bundles", short: "List the bundles of a catalog, or of one package, by channel", example: "catalog kiln",
		keys: "package, channel, name, version, release, replaces, skips, skipRange, image",
		args: []string{"CATALOG", "PACKAGE"}, least: 1, write: rowsOf(list.Bundles),
	},
	{
		name: "versions", short: "List the versions of a package, the highest first", example: "catalog kiln",
		keys: "package, name, version, release, channels, headOf (channels of which it is the head), image",
		args: []string{"CATALOG", "PACKAGE"}, least: 2, write: rowsOf(list.Versions),
	},
}

// rowsOf returns a function that lists rows and writes them.
func rowsOf[R list.Row](
	rows func(context.Context, []*declcfg.PackageIndex, list.Options) ([]R, error),
) func(*cobra.Command, []*declcfg.PackageIndex, list.Options, list.Format) error {
	return func(cmd *cobra.Command, of []*declcfg.PackageIndex, o list.Options, f list.Format) error {
		all, err := rows(cmd.Context(), of, o)
		if err != nil {
			return err
		}
		return list.Write(outputAs(cmd, string(f)), slices.Values(all), f)
	}
}

// listCmd returns the list commands, below alpha as upstream or at the top level.
func listCmd(alpha bool) *cobra.Command {
	path := "opm list"
	if alpha {
		path = "opm alpha list"
	}
	cmd := group(&cobra.Command{
		Use:     "list",
		Short:   "List the contents of a catalog",
		Example: "  " + path + " packages catalog",
	})
	for _, l := range listings {
		cmd.AddCommand(l.command(path))
	}
	return cmd
}

func (l listing) command(path string) *cobra.Command {
	var format, pkg string
	var opts list.Options
	var from imageFlags
	use := l.name + " " + strings.Join(l.args[:l.least], " ")
	if optional := l.args[l.least:]; len(optional) > 0 {
		use += " [" + optional[0] + "]"
	}
	line := fmt.Sprintf("  %s %s %s", path, l.name, l.example)
	cmd := &cobra.Command{
		Use:   use,
		Short: l.short,
		Long: l.short + `. The catalog must be valid.

text prints the columns of upstream opm, with display names from manifests only. wide prints more
columns, with display names also from olm.csv.metadata. name prints each name once, one a line.
json and yaml print a list of objects with these keys:

` + l.keys + `,
deprecated (true or false), deprecationMessage (if deprecated)` + catalogNote,
		Example: line + "\n" + line + " --channel stable -o name\n" + line + " -o json",
		Args: func(cmd *cobra.Command, args []string) error {
			switch named := cmd.Flags().Changed("package"); {
			case named && len(args) > 1 && len(l.args) > 1:
				return usageError{fmt.Errorf("--package and argument %s cannot be combined", l.args[1])}
			case named:
				return exactArgs(l.args[:1]...)(cmd, args)
			}
			return rangeArgs(l.least, l.args...)(cmd, args)
		},
		ValidArgsFunction: completeArgs([]cobra.CompletionFunc{files, packages}[:len(l.args)]...),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, done, err := readValid(cmd, args[0], &from)
			if err != nil {
				return err
			}
			defer done()
			names := slices.Concat(args[1:], optional(pkg))
			// As upstream, an empty name means all packages.
			chosen, err := list.Choose(index, slices.DeleteFunc(names, func(name string) bool { return name == "" })...)
			if err != nil {
				return err
			}
			return l.write(cmd, chosen, opts, list.Format(format))
		},
	}
	choiceVar(cmd, &format, "output", "o", "text", "output format", texts(list.Formats())...)
	cmd.Flags().StringVar(&pkg, "package", "", "list only this `PACKAGE`")
	cmd.Flags().StringVar(&opts.Channel, "channel", "", "list only rows of channels named `CHANNEL`")
	cmd.Flags().BoolVar(&opts.Deprecated, "deprecated", false, "list only what is itself deprecated")
	completeWith(cmd, packages, "package")
	completeWith(cmd, channelsOfArgs, "channel")
	from.addKeepGoing(cmd)
	addReadFlags(cmd, &from)
	return cmd
}
