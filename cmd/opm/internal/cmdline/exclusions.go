package cmdline

import (
	"iter"
	"strings"

	"github.com/spf13/cobra"
)

// exclusions is the annotation of a command with its flags that exclude each other: a line of names for each call of
// Exclude, the last call first.
const exclusions = "exclusions"

// Exclude makes the flag one mutually exclusive with each of the others. The flags may be added later.
func Exclude(cmd *cobra.Command, one string, others ...string) {
	annotate(cmd, exclusions, one+" "+strings.Join(others, " ")+"\n"+cmd.Annotations[exclusions])
}

// Exclusions yields the pairs of flags that exclude each other.
func Exclusions(cmd *cobra.Command) iter.Seq2[string, string] {
	return func(yield func(one, other string) bool) {
		for line := range strings.Lines(cmd.Annotations[exclusions]) {
			names := strings.Fields(line)
			for _, other := range names[1:] {
				if !yield(names[0], other) {
					return
				}
			}
		}
	}
}

// checkExclusions returns an error about the first pair of flags that exclude each other.
func checkExclusions(cmd *cobra.Command) error {
	for one, other := range Exclusions(cmd) {
		if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
			return Errorf("--%s and --%s cannot be combined", one, other)
		}
	}
	return nil
}
