package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/list"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A listing is one of the list commands.
type listing struct {
	name, short string
	keys        string // in JSON and YAML, for the help
	example     string // arguments

	args  []string // CATALOG, and PACKAGE where it takes one
	least int      // arguments that are needed

	write func(io.Writer, []*declcfg.PackageIndex, list.Options, list.Format) error
}

var listings = []listing{
	{
		name: "packages", short: "List the packages of a catalog", example: "catalog",
		keys: `name, displayName, defaultChannel, head and headVersion (of that channel), channels and
bundles (how many)`,
		args: []string{"CATALOG"}, least: 1, write: rowsOf(list.Packages),
	},
	{
		name: "channels", short: "List the channels of a catalog, or of one package", example: "catalog kiln",
		keys: "package, name, head, headVersion, default (whether it is), bundles (how many)",
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
	rows func([]*declcfg.PackageIndex, list.Options) ([]R, error),
) func(io.Writer, []*declcfg.PackageIndex, list.Options, list.Format) error {
	return func(w io.Writer, of []*declcfg.PackageIndex, o list.Options, f list.Format) error {
		all, err := rows(of, o)
		if err != nil {
			return err
		}
		return list.Write(w, all, f)
	}
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
	var format string
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

Text has the columns that upstream has, and takes the display name from manifests only; wide has
more, and also looks for it in olm.csv.metadata. With name, every name is printed once, on a line
of its own. JSON and YAML are a list of objects with these keys:

` + l.keys + `,
deprecated (whether it is), deprecationMessage (if it is)

A CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or an
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an archive of images.`,
		Example:           line + "\n" + line + " --channel stable -o name\n" + line + " -o json",
		Args:              rangeArgs(l.least, l.args...),
		ValidArgsFunction: completeArgs([]cobra.CompletionFunc{files, packages}[:len(l.args)]...),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, done, err := readValid(cmd, args[0], &from)
			if err != nil {
				return err
			}
			defer done()
			chosen, err := list.Choose(index, args[1:]...)
			if err != nil {
				return err
			}
			return l.write(cmd.OutOrStdout(), chosen, opts, list.Format(format))
		},
	}
	choiceVar(cmd, &format, "output", "o", "text", "output format", list.Formats()...)
	cmd.Flags().StringVar(&opts.Channel, "channel", "", "only what is in a channel of the name `CHANNEL`")
	cmd.Flags().BoolVar(&opts.Deprecated, "deprecated", false, "only what is itself deprecated")
	completeNothing(cmd, "channel")
	from.add(cmd)
	return cmd
}

// readValid reads a catalog, which can be read again until done is called. It prints the problems of one that is not
// valid.
func readValid(cmd *cobra.Command, ref string, from *imageFlags) (index *declcfg.Index, done func(), err error) {
	shown := progress(cmd, "reading")
	defer shown()
	catalog, closeAll, err := from.openCatalog(cmd, ref)
	if err != nil {
		return nil, nil, err
	}
	report, err := validate.Catalog(cmd.Context(), validate.Options{ErrorsOnly: true}, catalog.Sources...)
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	if len(report.Problems) > 0 {
		closeAll()
		shown()
		return nil, nil, cmp.Or(printProblems(cmd.ErrOrStderr(), report.Problems), errReported)
	}
	return report.Index, closeAll, nil
}
