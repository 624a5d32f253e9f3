package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A listing is one of the list commands. Its items are those of the packages of a valid catalog, in order.
type listing struct {
	name, short string
	keys        string // of an item in JSON and YAML, for the help
	example     string // arguments

	args  []string // CATALOG, and PACKAGE where it takes one
	least int      // arguments that are needed

	columns  []string
	upstream bool     // the columns are those of upstream, which prints what stands in them as it is
	wide     []string // further columns

	items func(*packageLister) ([]listed, error)
}

var listings = []listing{
	{
		name: "packages", short: "List the packages of a catalog", example: "catalog",
		keys: `name, displayName, defaultChannel, head and headVersion (of that channel), channels and
bundles (how many)`,
		args: []string{"CATALOG"}, least: 1,
		columns: []string{"NAME", "DISPLAY NAME", "DEFAULT CHANNEL"}, upstream: true,
		wide:  []string{"HEAD", "VERSION", "CHANNELS", "BUNDLES", "DEPRECATED"},
		items: (*packageLister).packages,
	},
	{
		name: "channels", short: "List the channels of a catalog, or of one package", example: "catalog kiln",
		keys: "package, name, head, headVersion, default (whether it is), bundles (how many)",
		args: []string{"CATALOG", "PACKAGE"}, least: 1,
		columns: []string{"PACKAGE", "CHANNEL", "HEAD"}, upstream: true,
		wide:  []string{"VERSION", "DEFAULT", "BUNDLES", "DEPRECATED"},
		items: (*packageLister).channels,
	},
	{
		name: "bundles", short: "List the bundles of a catalog, or of one package, by channel", example: "catalog kiln",
		keys: "package, channel, name, version, release, replaces, skips, skipRange, image",
		args: []string{"CATALOG", "PACKAGE"}, least: 1,
		columns: []string{"PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"}, upstream: true,
		wide:  []string{"VERSION", "RELEASE", "DEPRECATED"},
		items: (*packageLister).bundles,
	},
	{
		name: "versions", short: "List the versions of a package, the highest first", example: "catalog kiln",
		keys: "package, name, version, release, channels, headOf (channels of which it is the head), image",
		args: []string{"CATALOG", "PACKAGE"}, least: 2,
		columns: []string{"VERSION", "RELEASE", "NAME", "CHANNELS", "DEPRECATED"},
		wide:    []string{"HEAD OF", "IMAGE"},
		items:   (*packageLister).versions,
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
	var f listFlags
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
		RunE:              func(cmd *cobra.Command, args []string) error { return l.run(cmd, args, &f) },
	}
	f.add(cmd)
	return cmd
}

// listFlags are the flags of the list commands.
type listFlags struct {
	format     string
	channel    string
	deprecated bool
	images     imageFlags
}

func (f *listFlags) add(cmd *cobra.Command) {
	choiceVar(cmd, &f.format, "output", "o", "text", "output format", "text", "json", "yaml", "wide", "name")
	cmd.Flags().StringVar(&f.channel, "channel", "", "only what is in a channel of the name `CHANNEL`")
	cmd.Flags().BoolVar(&f.deprecated, "deprecated", false, "only what is itself deprecated")
	completeNothing(cmd, "channel")
	f.images.add(cmd)
}

func (l listing) run(cmd *cobra.Command, args []string, f *listFlags) error {
	ctx := cmd.Context()
	done := progress(cmd, "reading")
	defer done()
	catalog, closeAll, err := f.images.openCatalog(cmd, args[0])
	if err != nil {
		return err
	}
	defer closeAll()
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
	items, err := l.list(chosen, f)
	if err != nil {
		return err
	}
	done()
	return l.print(cmd.OutOrStdout(), f.format, items)
}

// list returns what the flags ask for.
func (l listing) list(chosen []*declcfg.PackageIndex, f *listFlags) ([]listed, error) {
	if err := checkChannel(chosen, f.channel); err != nil {
		return nil, err
	}
	var all []listed
	for _, x := range chosen {
		p, err := newPackageLister(x)
		if err != nil {
			return nil, err
		}
		items, err := l.items(p)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return slices.DeleteFunc(all, func(i listed) bool {
		return f.channel != "" && !i.isIn(f.channel) || f.deprecated && !i.isDeprecated()
	}), nil
}

// checkChannel returns an error where none of the packages has a channel of that name, unless it is "".
func checkChannel(chosen []*declcfg.PackageIndex, name string) error {
	var names []string
	for _, x := range chosen {
		for _, c := range x.Channels {
			names = append(names, c.Value.Name)
		}
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no channel %q%s: %w", name, nearest.Hint(name, names), declcfg.ErrNotFound)
}

func (l listing) print(w io.Writer, as string, items []listed) error {
	switch as {
	case "json":
		return printJSON(w, items)
	case "yaml":
		return printYAML(w, items)
	case "name":
		return printNames(w, items)
	}
	columns, wide, write := l.columns, as == "wide", printTable
	switch {
	case wide:
		columns = slices.Concat(l.columns, l.wide)
	case l.upstream:
		write = printRawTable
	}
	var rows [][]string
	for _, i := range items {
		rows = append(rows, i.row(wide))
	}
	return write(w, columns, rows)
}

// printYAML prints a value as YAML with the keys that it has in JSON, sorted as in all YAML of opm.
func printYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(format.AppendYAML(nil, text))
	return err
}

// printNames prints every name once.
func printNames(w io.Writer, items []listed) error {
	var text strings.Builder
	seen := map[string]bool{}
	for _, i := range items {
		if name := i.title(); !seen[name] {
			seen[name] = true
			text.WriteString(legible.Name(name) + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
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

// printTable prints rows below a header. What a catalog has in them can neither break lines nor speak to a terminal.
func printTable(w io.Writer, columns []string, rows [][]string) error {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = legible.Name(cell)
		}
	}
	return printRawTable(w, columns, rows)
}

// printRawTable prints columns as wide as they need to be and two spaces apart. The last one is not filled up. A
// text/tabwriter, which upstream has, takes longer than all the rest for 100,000 rows.
func printRawTable(w io.Writer, columns []string, rows [][]string) error {
	all := append([][]string{columns}, rows...)
	widths := make([]int, len(columns))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	buffered := bufio.NewWriter(w)
	for _, row := range all {
		for i, cell := range row {
			buffered.WriteString(cell)
			if i == len(row)-1 {
				break
			}
			for range widths[i] - utf8.RuneCountInString(cell) + 2 {
				buffered.WriteByte(' ')
			}
		}
		buffered.WriteByte('\n')
	}
	return buffered.Flush()
}
