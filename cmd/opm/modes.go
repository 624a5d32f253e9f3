package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// modes are what a command does, by the flag that makes it do that; "" is what it does without any of these flags. Each
// mode has the names of the flags that it uses. A flag that no mode has is used by all of them.
type modes map[string]string

// add makes a command refuse flags that have no effect, before it looks at its arguments.
func (m modes) add(cmd *cobra.Command) {
	arguments := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := m.check(cmd); err != nil {
			return err
		}
		return arguments(cmd, args)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for mode := range m {
			if users := m.users(f.Name); mode != "" && len(users) > 0 && !slices.Contains(users, mode) {
				cmd.MarkFlagsMutuallyExclusive(mode, f.Name) // for completion
			}
		}
	})
}

// check returns an error about the first flag, by name, that has no effect.
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
		if users := m.users(f.Name); err == nil && len(users) > 0 && !slices.Contains(users, chosen) {
			err = usageError{m.unused(f.Name, chosen, users)}
		}
	})
	return err
}

// users returns the modes that use a flag, sorted, nil if all do.
func (m modes) users(flag string) (users []string) {
	for mode, flags := range m {
		if slices.Contains(strings.Fields(flags), flag) {
			users = append(users, mode)
		}
	}
	slices.Sort(users)
	return users
}

func (m modes) unused(flag, chosen string, users []string) error {
	if chosen != "" {
		return fmt.Errorf("--%s and --%s cannot be combined", chosen, flag)
	}
	return fmt.Errorf("--%s needs --%s", flag, strings.Join(users, " or --"))
}
