// Package help prints the help of commands: usages with flags in groups, and topics that are not about one command.
package help

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
)

// Pages are the help of a program.
type Pages struct {
	Topics []Topic  // in alphabetical order
	Order  []string // the commands below the program as their groups list them; others follow by name
}

// The annotations of flags that the help lists after all others, or in a topic. Each is the title of its group.
const (
	TemplateFlag = "Template flags:"
	RegistryFlag = "Registry flags:"
)

// OfRegistries marks flags as being about registries.
func OfRegistries(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { cmdline.Must(flags.SetAnnotation(f.Name, RegistryFlag, nil)) })
}

// PrintUsage prints the usage line of a command, its examples, its subcommands in groups, and its flags, but of the
// flags for registries only the topic that lists them. Only the groups of flags and the topics differ from cobra's
// usage.
func (p *Pages) PrintUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintln(w, "Usage:")
	fmt.Fprintf(w, "  %s\n", UsageLine(cmd))
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if len(cmd.Groups()) == 0 {
		p.printCommands(w, cmd, "Available Commands:", "")
	}
	for _, g := range cmd.Groups() {
		p.printCommands(w, cmd, g.Title, g.ID)
	}
	for _, title := range []string{"Flags:", TemplateFlag} {
		printFlags(w, title, cmd)
	}
	if HasRegistryFlags(cmd) {
		fmt.Fprintf(w, "\n%s see opm help registries.\n", RegistryFlag)
	}
	if !cmd.HasParent() {
		fmt.Fprintf(w, "\nHelp topics:\n")
		for _, t := range p.Topics {
			fmt.Fprintf(w, "  %-*s %s\n", cmd.Commands()[0].NamePadding(), t.Name, t.Short)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s COMMAND --help\" for the help of a command.\n", cmd.CommandPath())
	}
	return nil
}

// HasRegistryFlags reports whether a command has the flags that opm help registries lists.
func HasRegistryFlags(cmd *cobra.Command) bool {
	return cmd.HasParent() && cmd.Flags().Lookup("authfile") != nil
}

// UsageLine returns the line that shows the arguments of a command.
func UsageLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && cmd.Use == cmd.Name() { // it has no arguments of its own
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// printCommands prints the subcommands of a group.
func (p *Pages) printCommands(w io.Writer, cmd *cobra.Command, title, id string) {
	for _, c := range p.inGroup(cmd, id) {
		if title != "" {
			fmt.Fprintf(w, "\n%s\n", title)
			title = ""
		}
		fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
	}
}

// inGroup returns the visible subcommands of a group: first in the given Order, then by name.
func (p *Pages) inGroup(cmd *cobra.Command, id string) (all []*cobra.Command) {
	rest := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return c.GroupID != id || !c.IsAvailableCommand() && c.Name() != "help"
	})
	if id == "" {
		return rest
	}
	for _, name := range p.Order {
		if i := slices.IndexFunc(rest, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
			all, rest = append(all, rest[i]), slices.Delete(rest, i, i+1)
		}
	}
	return append(all, rest...)
}

// printFlags prints the flags whose annotation is the title, or the flags without an annotation.
func printFlags(w io.Writer, title string, cmd *cobra.Command) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		_, ofTemplates := f.Annotations[TemplateFlag]
		_, ofRegistries := f.Annotations[RegistryFlag]
		if ofTemplates == (title == TemplateFlag) && ofRegistries == (title == RegistryFlag) {
			flags.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s\n%s\n", title, strings.TrimRight(flags.FlagUsages(), "\n"))
	}
}
