package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func migrateCmd() *cobra.Command {
	var format, level string
	cmd := &cobra.Command{
		Use:   "migrate CATALOG DIRECTORY",
		Short: "Write a catalog anew, one file a package",
		Long: `Write the objects of a catalog into a new directory: PACKAGE/catalog.json for every package,
and catalog.json for what belongs to none. A DIRECTORY that exists must be empty. If anything
fails, nothing is left in it.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz) or "-" for standard input.`,
		Example: `  opm migrate catalog new-catalog
  opm migrate catalog new-catalog -o yaml --migrate-level bundle-object-to-csv-metadata`,
		Args:              exactArgs("CATALOG", "DIRECTORY"),
		ValidArgsFunction: completeArgs(files, directories),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			defer progress(cmd, "migrating")()
			catalog, err := render.Open(ctx, args[:1], openOptions(cmd))
			if err != nil {
				return err
			}
			defer catalog.Close()
			migration := render.Migration(level)
			metas, err := catalog.Metas(ctx, migration)
			if err != nil {
				return err
			}
			warnOfFlaws(cmd, metas)
			opts := declcfg.WriteOptions{Format: declcfg.Format(format), Edit: migration.Edit}
			return declcfg.WriteDir(ctx, args[1], metas, opts)
		},
	}
	addFormatFlag(cmd, &format)
	addMigrateLevelFlag(cmd, &level)
	return cmd
}
