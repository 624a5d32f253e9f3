package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// FlagError returns the Error for an error of parsing flags. It suggests the nearest name for an unknown flag.
func FlagError(cmd *cobra.Command, err error) error {
	if missing, ok := err.(*pflag.ValueRequiredError); ok { //nolint:errorlint // pflag does not wrap it
		value, usage := pflag.UnquoteUsage(missing.GetFlag())
		return Errorf("%w (%s: %s)", err, value, usage)
	}
	unknown, ok := err.(*pflag.NotExistError) //nolint:errorlint // pflag does not wrap it
	switch {
	case !ok:
		return Invalid(err)
	case unknown.GetSpecifiedShortnames() != "":
		return Errorf("%w%s", err, longFlag(cmd, unknown.GetSpecifiedShortnames()))
	}
	return Errorf("%w%s", err, nearest.Hint("--"+unknown.GetSpecifiedName(), flagNames(cmd, "--")))
}

// flagNames returns the names of the flags that the help of a command lists, after a prefix.
func flagNames(cmd *cobra.Command, prefix string) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, prefix+f.Name)
		}
	})
	return names
}

// longFlag returns the hint for a flag with one dash in front of its long name: `; did you mean "--NAME"?`, or "".
func longFlag(cmd *cobra.Command, text string) string {
	name, _, _ := strings.Cut(text, "=")
	if len(name) < 2 {
		return ""
	}
	if near := nearest.Name(name, flagNames(cmd, "")); near != "" {
		return fmt.Sprintf(" (did you mean \"--%s\"?)", near)
	}
	return ""
}
