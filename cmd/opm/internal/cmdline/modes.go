package cmdline

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Modes maps each mode of a command to the flags that it uses. A mode is named after the flag that selects it; "" is
// the default mode. All modes use the flags that are not in the map.
type Modes map[string]string

// Mark hides the flags of other modes from completion. All flags of the modes must exist.
func (m Modes) Mark(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for mode := range m {
			if users := m.Users(f.Name); mode != "" && len(users) > 0 && !slices.Contains(users, mode) {
				cmd.MarkFlagsMutuallyExclusive(mode, f.Name)
			}
		}
	})
}

// Check returns an error about the first flag, by name, that the mode does not use.
func (m Modes) Check(cmd *cobra.Command) (err error) {
	var chosen string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := m[f.Name]; !ok || err != nil {
			return
		}
		if chosen != "" {
			err = Errorf("--%s and --%s cannot be combined", chosen, f.Name)
		}
		chosen = f.Name
	})
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch users := m.Users(f.Name); {
		case err != nil || len(users) == 0 || slices.Contains(users, chosen):
		case chosen != "":
			err = Errorf("--%s and --%s cannot be combined", chosen, f.Name)
		default: // "" is not a user
			err = Errorf("--%s needs %s", f.Name, OneOf(spellings(cmd, users)))
		}
	})
	return err
}

// Users returns the modes that use a flag, sorted, or nil if all modes use it.
func (m Modes) Users(flag string) (users []string) {
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
		if now := cmd.Flag(mode).Annotations[RenamedTo]; now != nil {
			all = append(all, now[0])
		} else {
			all = append(all, "--"+mode)
		}
	}
	return all
}
