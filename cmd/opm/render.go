package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func renderCmd() *cobra.Command {
	var output, level string
	var all bool
	cmd := &cobra.Command{
		Use:   "render REF...",
		Short: "Print the objects of catalogs",
		Long: `Print the objects of one or more catalogs as one stream, in a fixed order.

A REF is a directory of catalog files, a single file, an archive of a directory (.tar or
.tar.gz), or "-" for standard input. Render does not validate; nothing is printed if an
object cannot be read.`,
		Example: `  opm render catalog
  opm render catalog -o yaml > catalog.yaml
  opm render old.tar.gz more.json --migrate
  cat catalog.yaml | opm render -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("the argument REF is missing")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := parseFormat(output)
			if err != nil {
				return err
			}
			migration, err := migrationOf(level, all)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			catalog, err := render.Open(ctx, args, openOptions(cmd))
			if err != nil {
				return err
			}
			defer catalog.Close()
			done := progress(cmd, "rendering")
			defer done()
			metas, err := catalog.Metas(ctx, migration)
			if err != nil {
				return err
			}
			if isTerminal(cmd.OutOrStdout()) { // the output is to be seen instead
				done()
			}
			return declcfg.Write(ctx, cmd.OutOrStdout(), metas, declcfg.WriteOptions{Format: format, Edit: migration.Edit})
		},
	}
	addOutputFlag(cmd, &output)
	addMigrateLevelFlag(cmd, &level)
	cmd.Flags().BoolVar(&all, "migrate", false, "make all migrations")
	cmd.MarkFlagsMutuallyExclusive("migrate", "migrate-level")
	return cmd
}

func addOutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", string(declcfg.JSON), "output format (json|yaml)")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
}

func addMigrateLevelFlag(cmd *cobra.Command, level *string) {
	cmd.Flags().StringVar(level, "migrate-level", "", "make the migrations up to this one (none|bundle-object-to-csv-metadata|all)")
	must(cmd.RegisterFlagCompletionFunc("migrate-level", cobra.FixedCompletions(render.Migrations(), cobra.ShellCompDirectiveNoFileComp)))
}

func parseFormat(s string) (declcfg.Format, error) {
	switch f := declcfg.Format(s); f {
	case declcfg.JSON, declcfg.YAML:
		return f, nil
	}
	return "", usageError{fmt.Errorf("unknown output format %q, want json or yaml", s)}
}

func migrationOf(level string, all bool) (render.Migration, error) {
	if all {
		return render.MigrateAll, nil
	}
	m, err := render.ParseMigration(level)
	if err != nil {
		return "", usageError{err}
	}
	return m, nil
}

// openOptions are what the environment gives to opening references.
func openOptions(cmd *cobra.Command) render.Options {
	warn := func(message string) { fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: %s\n", message) }
	return render.Options{
		Stdin: cmd.InOrStdin(),
		Spool: spool.Options{Dir: os.Getenv("OLM_CACHE_DIR"), Warn: warn},
	}
}
