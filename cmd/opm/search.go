package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/list"
)

func searchCmd() *cobra.Command {
	var format, pkg string
	var from imageFlags
	cmd := &cobra.Command{
		Use:   "search CATALOG TEXT",
		Short: "Search a catalog for packages and bundles",
		Long: `Search the names, display names, providers, keywords, provided APIs and images of packages and
bundles for a text. Upper and lower case are the same. An API is found by a part of its group,
version or kind, of GROUP/VERSION/KIND, or of KIND.VERSION.GROUP. Images include related images.

text has a line for each value that contains the text, with the number of bundles that have it and
the one with the highest version; names of bundles and images are not shown if the name of their
package contains the text. json lists all of these bundles. name prints the names of packages and,
where a bundle is found by its name, of bundles. The catalog need not be valid.` + catalogNote,
		Example: `  opm search catalog pottery
  opm search catalog kiln -o name
  opm search catalog Kiln.crafts.example -o json`,
		Args:              exactArgs("CATALOG", "TEXT"),
		ValidArgsFunction: completeArgs(files, cobra.NoFileCompletions),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] == "" {
				return usageError{errors.New("TEXT is empty")}
			}
			rows, err := search(cmd, args[0], args[1], pkg, &from)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "opm: nothing in %s contains %q\n", args[0], args[1])
			}
			return list.Write(outputAs(cmd, format), slices.Values(rows), list.Format(format))
		},
	}
	choiceVar(cmd, &format, "output", "o", string(list.Text), "output format",
		string(list.Text), string(list.JSON), string(list.Names))
	cmd.Flags().StringVar(&pkg, "package", "", "search only this `PACKAGE`")
	completeWith(cmd, packages, "package")
	from.addKeepGoing(cmd)
	addReadFlags(cmd, &from)
	return cmd
}

// search reads a catalog and returns what matches.
func search(cmd *cobra.Command, ref, text, pkg string, from *imageFlags) ([]list.Match, error) {
	defer progress(cmd, "searching")()
	catalog, closeAll, err := from.openCatalog(cmd, ref)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	return list.Search(cmd.Context(), text, pkg, catalog.Sources...)
}
