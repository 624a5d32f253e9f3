package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func migrateCmd() *cobra.Command {
	var output, level string
	cmd := &cobra.Command{
		Use:   "migrate CATALOG DIRECTORY",
		Short: "Write a catalog anew, one file a package",
		Long: `Write the objects of a catalog into a new directory: PACKAGE/catalog.json for every package,
and catalog.json for what belongs to none. The directory must not exist or be empty; if
anything fails, nothing is left in it.`,
		Example: `  opm migrate catalog new-catalog
  opm migrate catalog new-catalog -o yaml --migrate-level bundle-object-to-csv-metadata`,
		Args: exactArgs("CATALOG", "DIRECTORY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := parseFormat(output)
			if err != nil {
				return err
			}
			migration, err := migrationOf(level, false)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			catalog, err := render.Open(ctx, args[:1], openOptions(cmd))
			if err != nil {
				return err
			}
			defer catalog.Close()
			defer progress(cmd, "migrating")()
			metas, err := catalog.Metas(ctx, migration)
			if err != nil {
				return err
			}
			opts := declcfg.WriteOptions{Format: format, Edit: migration.Edit}
			return declcfg.WriteDir(ctx, args[1], metas, opts)
		},
	}
	addOutputFlag(cmd, &output)
	addMigrateLevelFlag(cmd, &level)
	return cmd
}
