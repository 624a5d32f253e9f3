package help

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
)

// Command prints the help of a command. Unlike cobra's, it fails if there is no such command.
func (p *Pages) Command() *cobra.Command {
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
				for _, t := range p.Topics {
					names = append(names, cobra.CompletionWithDesc(t.Name, t.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Root()
			if len(args) > 0 && p.topic(args[0]) != nil {
				return p.printTopic(cmd, args)
			}
			for _, name := range args {
				next, rest, err := of.Find([]string{name})
				if err != nil || len(rest) > 0 {
					return p.unknown(of, name)
				}
				of = next
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// printTopic prints the page of the topic that is the only argument.
func (p *Pages) printTopic(cmd *cobra.Command, args []string) error {
	t := p.topic(args[0])
	if len(args) > 1 {
		return cmdline.Errorf("unexpected argument %q: %s is a topic", args[1], t.Name)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), t.Page())
	return err
}

// unknown returns the error about an unknown command or topic.
func (p *Pages) unknown(of *cobra.Command, name string) error {
	var topics []string
	if !of.HasParent() {
		for _, t := range p.Topics {
			topics = append(topics, t.Name)
		}
	}
	return cmdline.Invalid(cmdline.UnknownCommand(of, name, topics...))
}
