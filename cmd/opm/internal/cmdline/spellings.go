package cmdline

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CheckFlags warns of deprecated flags and former spellings, and returns an error if a flag is missing that the command
// requires, or if two flags exclude each other. It runs before the checks of cobra, whose errors are hard to read.
func CheckFlags(cmd *cobra.Command, _ []string) error {
	noteRenamed(cmd)
	return cmp.Or(checkRequired(cmd), checkExclusions(cmd))
}

// checkRequired warns of deprecated flags, and returns an error about the first missing flag, by name, that the command
// requires.
func checkRequired(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if instead := f.Annotations[deprecatedFlag]; instead != nil && f.Changed {
			fmt.Fprintf(cmd.ErrOrStderr(), "Flag --%s has been deprecated, %s\n", f.Name, instead[0]) // as upstream
		}
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed && err == nil {
			err = Errorf("--%s is missing", f.Name)
		}
	})
	return err
}

// RenamedTo is the annotation of former spellings, flags and commands, with the command to use now. Upstream's names
// are not former spellings.
const RenamedTo = "renamed to"

// RenameFlag hides a flag that is a former spelling of a command.
func RenameFlag(flags *pflag.FlagSet, name, now string) {
	Hide(flags, name)
	Must(flags.SetAnnotation(name, RenamedTo, []string{now}))
}

// RenameCommand hides a command that is a former spelling of another one.
func RenameCommand(cmd *cobra.Command, now string) *cobra.Command {
	cmd.Hidden = true
	annotate(cmd, RenamedTo, now)
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
	if now := cmd.Annotations[RenamedTo]; now != "" {
		note(cmd.CommandPath(), now)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if now := f.Annotations[RenamedTo]; now != nil {
			note(cmd.CommandPath()+" --"+f.Name, now[0])
		}
	})
}

// Hide hides a flag.
func Hide(flags *pflag.FlagSet, name string) { Must(flags.MarkHidden(name)) }

// Deprecate hides a flag, and makes commands print what to do instead. Cobra's own mark does that too, but on standard
// output if the writer of standard output was set.
func Deprecate(flags *pflag.FlagSet, name, instead string) {
	Hide(flags, name)
	Must(flags.SetAnnotation(name, deprecatedFlag, []string{instead}))
}

const deprecatedFlag = "deprecated"
