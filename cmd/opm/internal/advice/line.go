package advice

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/shell"
)

// runHint returns the hint to run the command with other arguments, its flags and more words; or "" if the arguments
// are fewer than the command requires.
func runHint(cmd *cobra.Command, args []string, more ...string) string {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	if !strings.Contains(usage, "(") && len(args) < cmdline.ArgumentsOf(usage).Least {
		return ""
	}
	return strings.TrimSuffix("run: "+commandLine(cmd, args)+" "+shell.Join(more...), " ")
}

// commandLine returns the command with other arguments, its flags, and the flags of the usage line that are missing.
func commandLine(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	for _, arg := range args {
		words = append(words, shell.Quote(arg))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, value := range givenTo(f) {
			word := "--" + f.Name
			if value == "" || value != f.NoOptDefVal {
				word += "=" + shell.Quote(value)
			}
			words = append(words, word)
		}
	})
	use, _, _ := strings.Cut(cmd.Use, "(") // flags after it are alternatives
	fields := strings.Fields(use)
	for i, word := range fields[:len(fields)-1] {
		if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flag(name) != nil && !cmd.Flags().Changed(name) {
			words = append(words, word, fields[i+1])
		}
	}
	return strings.Join(words, " ")
}
