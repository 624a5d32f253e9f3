package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/schemas"
)

func schemaCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the CUE schemas of catalog objects",
		Long: `Print the CUE definitions that opm validate uses: all of them, or those of NAME, one of
` + oneOf(schemas.Names()) + `.`,
		Example: `  opm schema
  opm schema channel`,
		Args:      rangeArgs(0, "NAME"),
		ValidArgs: schemas.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			source := schemas.All()
			if len(args) == 1 {
				var ok bool
				if source, ok = schemas.Source(args[0]); !ok {
					return fmt.Errorf("no schema %q%s: want %s", args[0],
						nearest.Hint(args[0], schemas.Names()), oneOf(schemas.Names()))
				}
			}
			_, err := io.WriteString(cmd.OutOrStdout(), source)
			return err
		},
	}
}
