package main

import (
	"fmt"
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
  opm list channels catalog my-operator`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		Run:           func(*cobra.Command, []string) {},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	addGlobalFlags(root)
	root.AddCommand(
		alphaCmd(),
		generateCmd(),
		initCmd(),
		listCmd(false),
		migrateCmd(),
		renderCmd(),
		schemaCmd(),
		validateCmd(),
		versionCmd(),
	)
	return root
}

// alphaCmd holds what upstream calls alpha; each of its commands stands at the top as well.
func alphaCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "alpha",
		Short:  "Commands by the names they have in upstream opm",
		Hidden: os.Getenv("HELP_ALPHA") != "true",
		Args:   unknownCommand,
		Run:    func(*cobra.Command, []string) {},
	}
	cmd.AddCommand(listCmd(true))
	return cmd
}

func generateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate",
		Short:   "Generate files around a catalog",
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

func hide(flags *pflag.FlagSet, name string) { must(flags.MarkHidden(name)) }

// must is for errors about flags that do not exist, which no user can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		hint = fmt.Sprintf(" (did you mean %q?)", names[0])
	}
	return usageError{fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)}
}

// exactArgs and minArgs word the errors of cobra for people.
func exactArgs(names ...string) cobra.PositionalArgs { return rangeArgs(len(names), names...) }

// rangeArgs takes the arguments of those names, of which the first least are needed.
func rangeArgs(least int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError{fmt.Errorf("the argument %s is missing", names[len(args)])}
		case len(args) > len(names):
			return usageError{fmt.Errorf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}
