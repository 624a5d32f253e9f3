package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A listing describes a list command.
type listing struct {
	name, short string
	example     string // the arguments in the example of the help

	args string // the arguments after CATALOG, with a blank before them

	rows func(context.Context, iter.Seq[*declcfg.PackageIndex], list.Options) (*output.Result, error)
	keys func() []string // in JSON and YAML
}

var listings = []listing{
	{
		name: "packages", short: "List the packages of a catalog", example: "catalog",
		rows: rowsOf(list.Packages), keys: list.Keys[list.Package],
	},
	{
		name: "channels", short: "List the channels of a catalog, or of one package", example: "catalog kiln",
		args: " [PACKAGE]", rows: rowsOf(list.Channels), keys: list.Keys[list.Channel],
	},
	{
		name: "bundles", short: "List the bundles of a catalog, or of one package, by channel", example: "catalog kiln",
		args: " [PACKAGE]", rows: rowsOf(list.Bundles), keys: list.Keys[list.Bundle],
	},
	{
		name: "versions", short: "List the versions of a package, the highest first", example: "catalog kiln",
		args: " PACKAGE", rows: rowsOf(list.Versions), keys: list.Keys[list.Version],
	},
	{
		name: "images", short: "List the images of a catalog, or of one package, with their bundles", example: "catalog kiln",
		args: " [PACKAGE]", rows: rowsOf(list.Images), keys: list.Keys[list.Image],
	},
}

// rowsOf makes a function that lists rows one that returns them as an answer.
func rowsOf[R list.Row](
	rows func(context.Context, iter.Seq[*declcfg.PackageIndex], list.Options) ([]R, error),
) func(context.Context, iter.Seq[*declcfg.PackageIndex], list.Options) (*output.Result, error) {
	return func(ctx context.Context, of iter.Seq[*declcfg.PackageIndex], o list.Options) (*output.Result, error) {
		all, err := rows(ctx, of, o)
		if err != nil {
			return nil, err
		}
		return list.Result(slices.Values(all)), nil
	}
}

// listCmd returns the list commands, which exist at the top level and, as upstream, below alpha.
func listCmd(alpha bool) *cobra.Command {
	path := "opm list"
	if alpha {
		path = "opm alpha list"
	}
	cmd := cmdline.Group(&cobra.Command{
		Use:     "list",
		Short:   "List the contents of a catalog",
		Example: "  " + path + " packages catalog",
	})
	for _, l := range listings {
		cmd.AddCommand(l.command(path))
	}
	if !alpha {
		cmd.AddCommand(cmdline.RenameCommand(matrixCmd("opm list"), "opm matrix"))
	}
	return cmd
}

func (l listing) command(path string) *cobra.Command {
	var pkg string
	var opts list.Options
	var from imageFlags
	line := fmt.Sprintf("  %s %s %s", path, l.name, l.example)
	return command{
		Use:   l.name + " CATALOG" + l.args,
		Short: l.short,
		Long: l.short + `. The catalog must be valid.

text prints the columns of upstream opm, with display names from manifests only. wide prints more
columns, with display names also from olm.csv.metadata. name prints each name once, one a line.
json and yaml print a list of objects with these keys:

` + filled(l.keys()) + catalogNote,
		Example: line + "\n" + line + " --channel stable -o name\n" + line + " -o json",
		args: func(cmd *cobra.Command, args []string) error {
			switch named := cmd.Flags().Changed("package"); {
			case named && len(args) > 1 && l.args != "":
				return cmdline.Errorf("--package and argument PACKAGE cannot be combined")
			case named:
				return cmdline.WantArgs("CATALOG")(cmd, args)
			}
			return cmdline.WantArgs("CATALOG"+l.args)(cmd, args)
		},
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&pkg, "package", "", "list only this `PACKAGE`")
			cmd.Flags().StringVar(&opts.Channel, "channel", "", "list only rows of channels named `CHANNEL`")
			cmd.Flags().BoolVar(&opts.Deprecated, "deprecated", false, "list only what is itself deprecated")
			completion.With(cmd, completion.ChannelsOfArgs, "channel")
			from.addKeepGoing(cmd)
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML, output.Wide, output.Name},
		images:  &from,
		each:    new(eachFlag),
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			c, err := from.openValid(cmd, args[0])
			if err != nil {
				return nil, err
			}
			defer c.close()
			names := slices.Concat(args[1:], optional(pkg))
			// As upstream, an empty name means all packages.
			names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
			chosen, err := list.Choose(c.index, names...)
			if err != nil {
				return nil, err
			}
			return l.rows(cmd.Context(), chosen, opts)
		},
	}.cobra()
}

// readEach reads catalogs. It omits a catalog that cannot be read or is not valid, and reports it on standard error.
// Then fail is the error that ends the command; it begins with reason.
func readEach[T any](
	cmd *cobra.Command, refs []*reference.Named, reason string, read func(i int) (T, error),
) (all []T, fail, err error) {
	var out []string
	for i, r := range refs {
		one, err := read(i)
		if cmd.Context().Err() != nil {
			return nil, nil, cmd.Context().Err()
		}
		if err == nil {
			all = append(all, one)
			continue
		}
		if _, ok := errors.AsType[*failure.Error](err); ok {
			err = errors.New("it is not valid") // the problems are printed
		}
		for _, err := range failure.Flatten(err) {
			fmt.Fprintf(cmd.ErrOrStderr(), "opm: error: %s is left out: %s\n", legible.Name(r.Name), legible.Lines(err.Error()))
		}
		out = append(out, r.Name)
	}
	if out != nil {
		fail = failure.New(reason + strings.Join(out, ", "))
	}
	return all, fail, nil
}

// filled returns a list in lines of at most 95 characters, as help has them.
func filled(list []string) string {
	var lines []string
	line := ""
	for _, item := range list {
		if line != "" && len(line+", "+item+",") > 95 {
			lines, line = append(lines, line+","), ""
		}
		if line != "" {
			line += ", "
		}
		line += item
	}
	return strings.Join(append(lines, line), "\n")
}
