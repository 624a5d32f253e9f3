package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/search"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func searchCmd() *cobra.Command {
	var format, pkg string
	var from imageFlags
	cmd := &cobra.Command{
		Use:   "search CATALOG... TEXT",
		Short: "Search catalogs for packages and bundles",
		Long: `Search the names, display names, providers, keywords, categories, provided APIs, images and
descriptions of packages and bundles for a text. Upper and lower case are the same. An API is found
by a part of its group, version or kind, of GROUP/VERSION/KIND, or of KIND.VERSION.GROUP. Images
include related images. If nothing in a catalog contains a text of several words, its words are
searched: the packages in which every word is found, with the values that contain one. The page of
opm serve finds the same.

text has a line for each value that contains the text, with the number of bundles that have it and
the one with the highest version; names of bundles and images are not shown if the name of their
package contains the text. Packages come in the order of the kinds of values above: a name before
an API, and descriptions last, only of packages of which nothing else contains the text. With
several catalogs, the first column is the catalog. json lists all of these bundles. name prints the
names of packages and, where a bundle is found by its name, of bundles. The catalogs need not be
valid.` + catalogNote,
		Example: `  opm search catalog pottery
  opm search catalog registry.example/crafts/catalog:v1 kiln -o name
  opm search catalog Kiln.crafts.example -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return nil
			}
			return exactArgs("CATALOG", "TEXT")(cmd, args)
		},
		ValidArgsFunction: completeArgs(files, cobra.NoFileCompletions),
		RunE: func(cmd *cobra.Command, args []string) error {
			refs, text := args[:len(args)-1], args[len(args)-1]
			if text == "" {
				return usageError{errors.New("TEXT is empty")}
			}
			var rows []search.Match
			for _, ref := range refs {
				var found []search.Match
				var index *declcfg.Index
				err := from.withCatalog(cmd, "searching", openOptions(cmd), []string{ref}, func(c *catalog, _ func()) (err error) {
					found, index, err = search.Search(cmd.Context(), text, pkg, from.each.sharing(c.Sources)...)
					return err
				})
				if err != nil {
					return err
				}
				warnIfSeveral(cmd, ref, index)
				for i := range found {
					if len(refs) > 1 {
						found[i].Catalog = ref
					}
				}
				rows = append(rows, found...)
			}
			if len(rows) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "opm: nothing in %s contains %q\n", strings.Join(refs, ", "), text)
			}
			return from.each.print(cmd, format, list.MatchesResult(rows))
		},
	}
	addOutput(cmd, &format, output.Text, output.JSON, output.YAML, output.Name)
	cmd.Flags().StringVar(&pkg, "package", "", "search only this `PACKAGE`")
	from.addKeepGoing(cmd)
	addReadFlags(cmd, &from)
	from.each = new(eachFlag)
	from.each.add(cmd, 0)
	return cmd
}
