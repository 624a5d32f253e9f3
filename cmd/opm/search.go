package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/search"
)

func searchCmd() *cobra.Command {
	var pkg string
	var from imageFlags
	return command{
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
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&pkg, "package", "", "search only this `PACKAGE`")
			from.addKeepGoing(cmd)
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML, output.Name},
		images:  &from,
		each:    new(eachFlag),
		work:    "searching",
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			refs, text := args[:len(args)-1], args[len(args)-1]
			if text == "" {
				return nil, cmdline.Errorf("TEXT is empty")
			}
			var rows []search.Match
			for _, ref := range refs {
				c, err := from.openCatalog(cmd, openOptions(cmd), ref)
				if err != nil {
					return nil, err
				}
				found, index, err := search.Search(from.each.sharing(cmd.Context()), text, pkg, c.Sources...)
				c.close()
				if err != nil {
					return nil, err
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
			return list.MatchesResult(rows), nil
		},
	}.cobra()
}
