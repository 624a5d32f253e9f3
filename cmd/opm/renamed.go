package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamedTo is the annotation of former spellings, flags and commands, with the command to use now. Upstream's names
// are not former spellings.
const renamedTo = "renamed to"

// renamedFlag hides a flag that is a former spelling of a command.
func renamedFlag(flags *pflag.FlagSet, name, now string) {
	hide(flags, name)
	must(flags.SetAnnotation(name, renamedTo, []string{now}))
}

// renamedCmd hides a command that is a former spelling of another one.
func renamedCmd(cmd *cobra.Command, now string) *cobra.Command {
	cmd.Hidden = true
	annotate(cmd, renamedTo, now)
	return cmd
}

// annotate sets an annotation of a command.
func annotate(cmd *cobra.Command, name, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[name] = value
}

// noteRenamed prints a line for each former spelling that a command line uses.
func noteRenamed(cmd *cobra.Command) {
	note := func(before, now string) { fmt.Fprintf(cmd.ErrOrStderr(), "opm: %q is now %q\n", before, now) }
	if now := cmd.Annotations[renamedTo]; now != "" {
		note(cmd.CommandPath(), now)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if now := f.Annotations[renamedTo]; now != nil {
			note(cmd.CommandPath()+" --"+f.Name, now[0])
		}
	})
}
