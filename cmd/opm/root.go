package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// rootCmd returns the command line of opm.
func rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "opm",
		Short: "The toolchain for file-based catalogs of Kubernetes Operators",
		Long: `opm checks, renders, lists and migrates file-based catalogs: trees of JSON and YAML
files that hold the packages of operators, their channels, the bundles in them and the
updates between bundles.`,
		Example: `  opm validate catalog
  opm render catalog -o yaml > catalog.yaml
  opm list channels catalog kiln`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Args:                       noSuchCommand,
		Run:                        func(*cobra.Command, []string) {}, // as upstream: opm alone says nothing
	}
	root.SetErr(newStderr())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	addGlobalFlags(root)
	root.AddCommand(
		alphaCmd(),
		authCmd(),
		bundleCmd("opm"),
		checkImagesCmd(),
		diffCmd(),
		generateCmd(),
		graphCmd(),
		initCmd(),
		listCmd(false),
		migrateCmd(),
		renderCmd(),
		renderGraphCmd("opm"),
		schemaCmd(),
		serveCmd(),
		updatesCmd(),
		validateCmd(),
		versionCmd(),
	)
	return root
}

// alphaCmd holds what upstream calls alpha; each of its commands stands at the top as well.
func alphaCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "alpha",
		Short:   "Commands by the names that they have in upstream opm",
		Example: "  opm alpha list packages catalog",
		Hidden:  !showAlpha(),
		Args:    noSuchCommand,
		Run:     func(*cobra.Command, []string) {}, // as upstream
	}
	cmd.AddCommand(bundleCmd("opm alpha"), listCmd(true), renderGraphCmd("opm alpha"))
	return cmd
}

// generateCmd, as listCmd, has nothing to run: whatever stands in place of a command makes it print its help, as
// upstream does.
func generateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate",
		Short:   "Generate files for a catalog",
		Example: "  opm generate dockerfile catalog",
	}
	cmd.AddCommand(dockerfileCmd())
	return cmd
}

// addGlobalFlags adds the flags that every command takes, since upstream does.
func addGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.Bool("skip-tls-verify", false, "do not verify the certificates of registries")
	flags.Bool("use-http", false, "use plain HTTP for registries")
	flags.Bool("skip-tls", false, "do not use TLS for registries")
	hide(flags, "skip-tls")
	must(flags.MarkDeprecated("skip-tls", "use --use-http or --skip-tls-verify instead"))
	root.Flags().Bool("debug", false, "has no effect")
	hide(root.Flags(), "debug")
}

// showAlpha tells whether help shows what upstream calls alpha.
func showAlpha() bool { return os.Getenv("HELP_ALPHA") == "true" }

func hide(flags *pflag.FlagSet, name string) { must(flags.MarkHidden(name)) }

// must is for errors about flags that do not exist, which no user can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
