package cmdline

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// Group adds subcommands to cmd, which does nothing else: without a subcommand it prints its help, as upstream does,
// and an unknown subcommand is an error.
func Group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = NoSuchCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subcommands...)
	return cmd
}

// NoSuchCommand returns an error for an argument that is not a subcommand.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Invalid(UnknownCommand(cmd, args[0]))
}

// commandsFor are commands of other tools and the command to run instead.
var commandsFor = map[string]string{
	"push": "opm publish, or opm build --push", "lint": "opm validate", "show": "opm list, opm graph or opm render",
	"copy": "opm mirror", "pull": "opm render, or opm bundle unpack", "create": "opm init, or opm add --create",
	"format": "opm fmt", "upgrade": "opm updates, or opm plan", "explain": "opm rules NAME",
}

// UnknownCommand returns the error about an unknown subcommand. It may be meant to be one of more names, too.
func UnknownCommand(cmd *cobra.Command, name string, more ...string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	names = append(names, more...)
	hint := nearest.Hint(name, names)
	if instead := commandsFor[name]; instead != "" && !cmd.HasParent() {
		hint = "; run " + instead
	}
	return fmt.Errorf("unknown command %q for %q%s", name, cmd.CommandPath(), hint)
}
