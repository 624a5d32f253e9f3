package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// modes maps each mode of a command to the flags that it uses. A mode is named after the flag that selects it; "" is
// the default mode. All modes use the flags that are not in the map.
type modes map[string]string

// mark hides the flags of other modes from completion. All flags of the modes must exist.
func (m modes) mark(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for mode := range m {
			if users := m.users(f.Name); mode != "" && len(users) > 0 && !slices.Contains(users, mode) {
				cmd.MarkFlagsMutuallyExclusive(mode, f.Name)
			}
		}
	})
}

// check returns an error about the first flag, by name, that the mode does not use.
func (m modes) check(cmd *cobra.Command) (err error) {
	var chosen string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := m[f.Name]; !ok || err != nil {
			return
		}
		if chosen != "" {
			err = usageError{fmt.Errorf("--%s and --%s cannot be combined", chosen, f.Name)}
		}
		chosen = f.Name
	})
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch users := m.users(f.Name); {
		case err != nil || len(users) == 0 || slices.Contains(users, chosen):
		case chosen != "":
			err = usageError{fmt.Errorf("--%s and --%s cannot be combined", chosen, f.Name)}
		default: // "" is not a user
			err = usageError{fmt.Errorf("--%s needs %s", f.Name, oneOf(spellings(cmd, users)))}
		}
	})
	return err
}

// users returns the modes that use a flag, sorted, or nil if all modes use it.
func (m modes) users(flag string) (users []string) {
	for mode, flags := range m {
		if slices.Contains(strings.Fields(flags), flag) {
			users = append(users, mode)
		}
	}
	slices.Sort(users)
	return users
}

// spellings returns the flags that select modes, or the commands for the modes that have their own.
func spellings(cmd *cobra.Command, modes []string) (all []string) {
	for _, mode := range modes {
		if now := cmd.Flag(mode).Annotations[renamedTo]; now != nil {
			all = append(all, now[0])
		} else {
			all = append(all, "--"+mode)
		}
	}
	return all
}

// exclusions is the annotation of a command with its flags that exclude each other: a line of names for each call of
// exclude, the last call first.
const exclusions = "exclusions"

// exclude makes the flag one mutually exclusive with each of the others. The flags may be added later.
func exclude(cmd *cobra.Command, one string, others ...string) {
	annotate(cmd, exclusions, one+" "+strings.Join(others, " ")+"\n"+cmd.Annotations[exclusions])
}

// eachExclusion yields the pairs of flags that exclude each other.
func eachExclusion(cmd *cobra.Command) iter.Seq2[string, string] {
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
	for one, other := range eachExclusion(cmd) {
		if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
			return usageError{fmt.Errorf("--%s and --%s cannot be combined", one, other)}
		}
	}
	return nil
}
