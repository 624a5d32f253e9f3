package main

import (
	"cmp"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/help"
)

// A commandGroup is the commands of one group of the help, in their order there.
type commandGroup struct {
	title    string // "" for commands that the help does not list
	commands []namedCommand
}

// A namedCommand makes the command with a name.
type namedCommand struct {
	name string
	make func() *cobra.Command
}

// commandGroups are the commands of opm, in groups by what their users want to do.
var commandGroups = []commandGroup{
	{"Look:", []namedCommand{
		{"list", func() *cobra.Command { return listCmd(false) }},
		{"matrix", func() *cobra.Command { return matrixCmd("opm") }},
		{"search", searchCmd}, {"render", renderCmd}, {"graph", graphCmd}, {"diff", diffCmd},
	}},
	{"Check:", []namedCommand{
		{"check", checkCmd}, {"validate", validateCmd}, {"check-images", checkImagesCmd}, {"check-updates", checkUpdatesCmd},
		{"resolve", resolveCmd}, {"updates", updatesCmd}, {"plan", planCmd}, {"fmt", fmtCmd}, {"rules", rulesCmd},
	}},
	{"Clusters:", []namedCommand{
		{"diagnose", diagnoseCmd}, {"simulate", simulateCmd}, {"permissions", permissionsCmd},
	}},
	{"Write:", []namedCommand{
		{"init", initCmd}, {"add", addCmd}, {"promote", promoteCmd}, {"deprecate", deprecateCmd},
		{"default-channel", defaultChannelCmd}, {"remove", removeCmd},
	}},
	{"Generate:", []namedCommand{
		{"render-template", func() *cobra.Command { return renderTemplateCmd("opm") }},
		{"convert-template", func() *cobra.Command { return convertTemplateCmd("opm") }},
		{"compose", composeCmd}, {"filter", filterCmd}, {"migrate", migrateCmd},
	}},
	{"Ship:", []namedCommand{
		{"build", buildCmd}, {"publish", publishCmd}, {"mirror", mirrorCmd}, {"serve", serveCmd}, {"generate", generateCmd},
	}},
	{"Bundles:", []namedCommand{{"bundle", func() *cobra.Command { return bundleCmd("opm") }}}},
	{otherCommands, []namedCommand{
		{"auth", authCmd}, {"schema", schemaCmd}, {"version", versionCmd}, {"alpha", alphaCmd},
	}},
	{"", []namedCommand{
		{"render-graph", func() *cobra.Command { return renderGraphCmd("opm") }}, // upstream's graph
		{"catalogsource", catalogSourceCmd},
	}},
}

// renamedCommands are the present names of commands by their former names, which still work.
var renamedCommands = map[string]string{"check-crds": "check-updates"}

const otherCommands = "Other commands:"

// rootCmd returns the command line of opm, which prints to stdout; nil means the standard output of the process. If
// only is the name of a command, the others are left out: to make them all takes longer than many a command runs.
func rootCmd(stdout io.Writer, only string) *cobra.Command {
	root := &cobra.Command{
		Use:   "opm",
		Short: "The toolchain for file-based catalogs of Kubernetes Operators",
		Long: `opm validates, renders, serves and publishes file-based catalogs: directories of JSON and
YAML files that define operator packages, their channels and bundles, and the updates between
bundles.

Exit status:
  0    success
  1    a problem was found, something failed, or the command line is wrong
  2    opm publish or opm check failed, and not because of the catalog
  141  the reader of the output closed it before its end, as in opm render catalog | head`,
		Example: `  opm validate catalog
  opm render catalog -o yaml > catalog.yaml
  opm list channels catalog kiln`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       cmp.Or(thisBuild().Version, "(devel)"),
		Args:          cmdline.NoSuchCommand,
		Run:           func(*cobra.Command, []string) {}, // as upstream: opm alone prints nothing

		PersistentPreRunE: cmdline.CheckFlags,
	}
	root.SetOut(stdout) // first: the commands for completion keep it
	pages := helpPages()
	root.SetUsageFunc(pages.PrintUsage)
	root.SetFlagErrorFunc(cmdline.FlagError)
	root.SetVersionTemplate("opm {{.Version}}\n")
	addGlobalFlags(root)
	only = cmp.Or(renamedCommands[only], only)
	one := slices.ContainsFunc(commandGroups, func(g commandGroup) bool {
		return slices.ContainsFunc(g.commands, func(c namedCommand) bool { return c.name == only })
	})
	for _, g := range commandGroups {
		if g.title != "" {
			root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		}
		for _, c := range g.commands {
			if one && c.name != only {
				continue
			}
			cmd := c.make()
			cmd.GroupID = g.title
			for before, now := range renamedCommands {
				if now == c.name {
					cmd.Aliases = append(cmd.Aliases, before)
				}
			}
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommand(pages.Command())
	root.SetHelpCommandGroupID(otherCommands)
	root.CompletionOptions.DisableDefaultCmd = one
	if !one {
		root.AddCommand(cmdline.RemovedCommand("index"), cmdline.RemovedCommand("registry"))
		addCompletionCmd(root)
	}
	cmdline.WholeLists(root)
	return root
}

// helpPages returns the help of opm.
func helpPages() *help.Pages {
	p := &help.Pages{Topics: help.Topics(registryFlags)}
	for _, g := range commandGroups {
		for _, c := range g.commands {
			p.Order = append(p.Order, c.name)
		}
	}
	return p
}

// registryFlags returns the flags about registries, of commands and global ones.
func registryFlags() *pflag.FlagSet {
	cmd := &cobra.Command{}
	new(imageFlags).add(cmd)
	addGlobalFlags(cmd)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Annotations[help.RegistryFlag]; ok {
				flags.AddFlag(f)
			}
		})
	}
	return flags
}

// addCompletionCmd adds the command of the library that prints scripts for completion.
func addCompletionCmd(root *cobra.Command) {
	root.SetCompletionCommandGroupID(otherCommands)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmdline.Group(cmd)
		}
	}
}

// alphaCmd returns the group of commands that upstream has below alpha. Each also exists at the top level.
func alphaCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "alpha",
		Short:   "Run commands by their upstream names",
		Example: "  opm alpha list packages catalog",
		Hidden:  os.Getenv("HELP_ALPHA") != "true",
		Args:    cmdline.NoSuchCommand,
		Run:     func(*cobra.Command, []string) {}, // as upstream
	}
	cmd.AddCommand(bundleCmd("opm alpha"), listCmd(true), renderGraphCmd("opm alpha"),
		renderTemplateCmd("opm alpha"), convertTemplateCmd("opm alpha"),
		cmdline.RemovedCommand("alpha diff"), cmdline.RemovedCommand("alpha veneer"),
		cmdline.RemovedCommand("alpha render-veneer"))
	return cmd
}

func generateCmd() *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:     "generate",
		Short:   "Generate files for a catalog",
		Example: "  opm generate dockerfile catalog",
	}, dockerfileCmd(), manifestsCmd())
}

// addGlobalFlags adds the flags that every command accepts, as upstream.
func addGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.Bool("skip-tls-verify", false, "do not verify the certificates of registries")
	flags.Bool("use-http", false, "use plain HTTP for registries")
	flags.Bool("skip-tls", false, "do not use TLS for registries")
	cmdline.Deprecate(flags, "skip-tls", "use --use-http or --skip-tls-verify instead")
	help.OfRegistries(flags)
	root.Flags().Bool("version", false, "print the version of opm")
	root.Flags().Bool("debug", false, "has no effect")
	cmdline.Hide(root.Flags(), "debug")
}
