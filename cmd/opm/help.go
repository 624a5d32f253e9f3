package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/nearest"
)

// group adds subcommands to cmd, which does nothing else: without a subcommand it prints its help, as upstream does,
// and an unknown subcommand is an error.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = noSuchCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subcommands...)
	return cmd
}

// noSuchCommand returns an error for an argument that is not a subcommand.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return cmdline.Invalid(unknownCommand(cmd, args[0]))
}

// commandsFor are commands of other tools and the command to run instead.
var commandsFor = map[string]string{
	"push": "opm publish, or opm build --push", "lint": "opm validate", "show": "opm list, opm graph or opm render",
	"copy": "opm mirror", "pull": "opm render, or opm bundle unpack", "create": "opm init, or opm add --create",
	"format": "opm fmt", "upgrade": "opm updates, or opm plan", "explain": "opm rules NAME",
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if !cmd.HasParent() && cmd.CalledAs() == "" { // of opm help
		for _, t := range helpTopics {
			names = append(names, t.name)
		}
	}
	hint := nearest.Hint(name, names)
	if instead := commandsFor[name]; instead != "" && !cmd.HasParent() {
		hint = "; run " + instead
	}
	return fmt.Errorf("unknown command %q for %q%s", name, cmd.CommandPath(), hint)
}

// helpCmd prints the help of a command. Unlike cobra's, it fails if there is no such command.
func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Print the help of a command or about a topic",
		Example: `  opm help list channels
  opm help registries`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range of.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			if len(args) == 0 {
				for _, t := range helpTopics {
					names = append(names, cobra.CompletionWithDesc(t.name, t.short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Root()
			if len(args) > 0 && topicOf(args[0]) != nil {
				return printTopic(cmd, args)
			}
			for _, name := range args {
				next, rest, err := of.Find([]string{name})
				if err != nil || len(rest) > 0 {
					return cmdline.Invalid(unknownCommand(of, name))
				}
				of = next
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// printTopic prints the page of the topic that is the only argument.
func printTopic(cmd *cobra.Command, args []string) error {
	t := topicOf(args[0])
	if len(args) > 1 {
		return cmdline.Errorf("unexpected argument %q: %s is a topic", args[1], t.name)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), t.page())
	return err
}

// The annotations of flags that the help lists after all others, or in a topic. Each is the title of its group.
const (
	templateFlag = "Template flags:"
	registryFlag = "Registry flags:"
)

// ofRegistries marks flags as being about registries.
func ofRegistries(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { cmdline.Must(flags.SetAnnotation(f.Name, registryFlag, nil)) })
}

// printUsage prints the usage line of a command, its examples, its subcommands in groups, and its flags, but of the
// flags for registries only the topic that lists them. Only the groups of flags and the topics differ from cobra's
// usage.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintln(w, "Usage:")
	fmt.Fprintf(w, "  %s\n", usageLine(cmd))
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if len(cmd.Groups()) == 0 {
		printCommands(w, cmd, "Available Commands:", "")
	}
	for _, g := range cmd.Groups() {
		printCommands(w, cmd, g.Title, g.ID)
	}
	for _, title := range []string{"Flags:", templateFlag} {
		printFlags(w, title, cmd)
	}
	if hasRegistryFlags(cmd) {
		fmt.Fprintf(w, "\n%s see opm help registries.\n", registryFlag)
	}
	if !cmd.HasParent() {
		fmt.Fprintf(w, "\nHelp topics:\n")
		for _, t := range helpTopics {
			fmt.Fprintf(w, "  %-*s %s\n", cmd.Commands()[0].NamePadding(), t.name, t.short)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s COMMAND --help\" for the help of a command.\n", cmd.CommandPath())
	}
	return nil
}

// hasRegistryFlags reports whether a command has the flags that opm help registries lists.
func hasRegistryFlags(cmd *cobra.Command) bool {
	return cmd.HasParent() && cmd.Flags().Lookup("authfile") != nil
}

// usageLine returns the line that shows the arguments of a command.
func usageLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && cmd.Use == cmd.Name() { // it has no arguments of its own
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// printCommands prints the subcommands of a group.
func printCommands(w io.Writer, cmd *cobra.Command, title, id string) {
	for _, c := range inGroup(cmd, id) {
		if title != "" {
			fmt.Fprintf(w, "\n%s\n", title)
			title = ""
		}
		fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
	}
}

// inGroup returns the subcommands of a group that the help lists: those of commandGroups in their order, then the
// others by name.
func inGroup(cmd *cobra.Command, id string) (all []*cobra.Command) {
	rest := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return c.GroupID != id || !c.IsAvailableCommand() && c.Name() != "help"
	})
	for _, g := range commandGroups {
		if g.title != id || id == "" {
			continue
		}
		for _, named := range g.commands {
			i := slices.IndexFunc(rest, func(c *cobra.Command) bool { return c.Name() == named.name })
			if i >= 0 {
				all, rest = append(all, rest[i]), slices.Delete(rest, i, i+1)
			}
		}
	}
	return append(all, rest...)
}

// printFlags prints the flags whose annotation is the title, or the flags without an annotation.
func printFlags(w io.Writer, title string, cmd *cobra.Command) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		_, ofTemplates := f.Annotations[templateFlag]
		_, ofRegistries := f.Annotations[registryFlag]
		if ofTemplates == (title == templateFlag) && ofRegistries == (title == registryFlag) {
			flags.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s\n%s\n", title, strings.TrimRight(flags.FlagUsages(), "\n"))
	}
}
