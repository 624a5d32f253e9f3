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
	var format, level string
	var all bool
	var bundles bundleFlags
	cmd := &cobra.Command{
		Use:   "render REF...",
		Short: "Print the objects of catalogs and bundles",
		Long: `Print the objects of one or more catalogs and bundles as one stream, in a fixed order.

A REF is a directory of catalog files, a single file, an archive of a directory (.tar or
.tar.gz), "-" for standard input, or the directory of a bundle, with manifests/ and
metadata/. Render does not validate; nothing is printed if an object cannot be read.`,
		Example: `  opm render catalog
  opm render catalog/kiln catalog/loom/catalog.json -o yaml > catalog.yaml
  opm render catalog --migrate
  cat catalog/kiln/*.yaml | opm render -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("the argument REF is missing")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			migration := render.Migration(level)
			if all {
				migration = render.MigrateAll
			}
			opts := declcfg.WriteOptions{Format: declcfg.Format(format), Edit: migration.Edit}
			from := openOptions(cmd)
			var err error
			if from.Bundles, err = bundles.options(cmd); err != nil {
				return err
			}
			return renderAll(cmd, args, from, migration, opts)
		},
	}
	addFormatFlag(cmd, &format)
	addMigrateLevelFlag(cmd, &level)
	cmd.Flags().BoolVar(&all, "migrate", false, "make all migrations")
	exclude(cmd, "migrate", "migrate-level")
	bundles.add(cmd)
	return cmd
}

func renderAll(
	cmd *cobra.Command, refs []string, from render.Options, migration render.Migration, opts declcfg.WriteOptions,
) error {
	ctx := cmd.Context()
	done := progress(cmd, "rendering")
	defer done()
	catalog, err := render.Open(ctx, refs, from)
	if err != nil {
		return err
	}
	defer catalog.Close()
	metas, err := catalog.Metas(ctx, migration)
	if err != nil {
		return err
	}
	if isTerminal(cmd.OutOrStdout()) { // the output is to be seen instead
		done()
	}
	warnOfFlaws(cmd, metas)
	return declcfg.Write(ctx, cmd.OutOrStdout(), metas, opts)
}

// warnOfFlaws tells of input that is written otherwise than its author may expect.
func warnOfFlaws(cmd *cobra.Command, metas []*declcfg.Meta) {
	for _, m := range metas {
		for _, f := range m.Flaws() {
			what := "what is no Unicode text becomes U+FFFD"
			if f.Key != "" {
				what = fmt.Sprintf("the key %q stands twice in one object; the last one counts", f.Key)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", f.Pos, what)
		}
	}
}

// openOptions are what the environment gives to opening references.
func openOptions(cmd *cobra.Command) render.Options {
	warn := func(message string) { fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: %s\n", message) }
	return render.Options{
		Stdin: cmd.InOrStdin(),
		Spool: spool.Options{Dir: os.Getenv("OLM_CACHE_DIR"), Warn: warn},
	}
}
