package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
)

// matrixCmd returns the command that compares catalogs, below the command with this path.
func matrixCmd(path string) *cobra.Command {
	var channels bool
	var from imageFlags
	each := eachFlag{purpose: "compare these catalogs, too"}
	return command{
		Use:   "matrix [NAME=]CATALOG...",
		Short: "Compare the packages of several catalogs",
		Long: `Compare the packages of several catalogs, such as the catalogs for several versions of a
platform: a row for each package, and a column for each catalog with the version of the head of the
default channel. "-" stands for a package that a catalog does not have, and "<" follows a version
that is older than another one of its row. A default channel is named where not all catalogs have
the same.

A column is called NAME or, without it, like the file or directory of the catalog. A catalog that
cannot be read or is not valid has no column; the others are compared, and the exit status is 1.

json and yaml print an object with the names of the catalogs and the rows, each with package,
channel (with --channels) and heads: catalog, channel, bundle, version and older (true or false),
for each catalog that has the row.` + catalogNote,
		Example: "  " + path + ` matrix catalog/kiln catalog
  ` + path + ` matrix old=catalog/loom new=catalog --channels -o markdown
  ` + path + ` matrix catalog/kiln catalog -o html > matrix.html
  ` + path + ` matrix --each catalog/`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&channels, "channels", false, "compare all channels, not only default channels")
			from.addKeepGoing(cmd)
		},
		formats: []output.Format{output.Text, output.Markdown, output.HTML, output.JSON, output.YAML},
		images:  &from,
		each:    &each,
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			refs, err := each.refs(args...)
			if err != nil {
				return nil, err
			}
			read := func(i int) (column list.MatrixColumn, err error) {
				c, err := from.openValid(cmd, refs[i].Ref)
				if err != nil {
					return column, err
				}
				defer c.close()
				return list.MatrixColumn{Catalog: refs[i].Name, Heads: list.Heads(c.index.Each())}, nil
			}
			columns, failed, err := readEach(cmd, refs, "not all catalogs can be compared: without ", read)
			if err != nil || len(columns) == 0 {
				return nil, cmp.Or(err, failed)
			}
			return list.NewMatrix(columns, channels).Result(), failed
		},
	}.cobra()
}
