package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func migrateCmd() *cobra.Command {
	var format declcfg.Format
	var level render.Migration
	var from imageFlags
	return command{
		Use:   "migrate CATALOG DIRECTORY",
		Short: "Rewrite a catalog to one file per package",
		Long: `Write the objects of a catalog to a new directory: PACKAGE/catalog.json for each package, and
catalog.json for objects without a package. DIRECTORY must be empty or not exist. If migrate
fails, it writes nothing.` + catalogNote,
		Example: `  opm migrate catalog new-catalog
  opm migrate catalog new-catalog -o yaml --migrate-level bundle-object-to-csv-metadata
  opm migrate registry.example/crafts/catalog:v1 new-catalog`,
		flags: func(cmd *cobra.Command) {
			addFormatFlag(cmd, &format)
			addMigrateLevelFlag(cmd, &level)
		},
		images: &from,
		work:   "migrating",
		do: func(cmd *cobra.Command, args []string) error {
			opts := openOptions(cmd)
			opts.Changes.Migration = level
			c, err := from.openCatalog(cmd, opts, args[0])
			if err != nil {
				return err
			}
			defer c.close()
			metas, err := c.Metas(cmd.Context())
			if err != nil {
				return err
			}
			warnOfFlaws(cmd, metas)
			write := declcfg.WriteOptions{Format: format, Edit: c.Edit, Check: c.Unchanged}
			return declcfg.WriteDir(cmd.Context(), args[1], metas, write)
		},
	}.cobra()
}
