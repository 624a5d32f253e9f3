// Package completion completes command lines in shells.
package completion

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/platform"
)

// Args completes each argument with its own function, and nothing after the last.
func Args(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd, args, start)
	}
}

// Usage completes the arguments that a usage line names: the first one to Files, unless it is a directory, and others
// by byValueName. The last one is completed again if it can be repeated.
func Usage(usage string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		want, i := cmdline.ArgumentsOf(usage), len(args)
		if want.Many {
			i = min(i, len(want.Names)-1)
		}
		switch {
		case i >= len(want.Names):
			return nil, cobra.ShellCompDirectiveNoFileComp
		case i == 0 && want.Names[0] != "DIRECTORY":
			return Files(cmd, args, start)
		}
		if complete := byValueName[want.Names[i]]; complete != nil {
			return complete(cmd, args, start)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// Files completes to files and directories.
func Files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// directories completes to directories.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// ListOf completes the last word of a comma-separated list.
func ListOf(words func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		before := start[:strings.LastIndexByte(start, ',')+1]
		var lists []string
		for _, word := range words() {
			if !slices.Contains(strings.Split(before, ","), word) {
				lists = append(lists, before+word)
			}
		}
		return lists, cobra.ShellCompDirectiveNoFileComp
	}
}

// With completes the values of flags.
func With(cmd *cobra.Command, complete cobra.CompletionFunc, flags ...string) {
	for _, flag := range flags {
		cmdline.Must(cmd.RegisterFlagCompletionFunc(flag, complete))
	}
}

// Nothing disables completion of the values of flags, which are not files.
func Nothing(cmd *cobra.Command, flags ...string) {
	With(cmd, cobra.NoFileCompletions, flags...)
}

// byValueName maps the names of flag values in help texts to their completions.
var byValueName = map[string]cobra.CompletionFunc{
	"DIRECTORY": directories, "FILE": Files, "CATALOG": Files, "PATH": Files, "[NAMESPACE/]NAME=CATALOG": Files,
	"PACKAGE": packages, "PACKAGE[:CHANNEL,...][@RANGE]": packageChannels, "PACKAGE:CHANNEL": packageChannels,
	"CHANNEL": channels, "BUNDLE": Bundles, "TARGET": targets, "ocp=X.Y": targets,
	"NEW": Files, "FROM": Bundles, "TO": Bundles,
}

// targets completes to the releases of OpenShift and Kubernetes that the table of platforms has, the newest first.
func targets(cmd *cobra.Command, _ []string, _ string) (all []string, _ cobra.ShellCompDirective) {
	var kubernetes []string
	for _, p := range slices.Backward(platform.Releases()) {
		all = append(all, "ocp="+p.OpenShift.String())
		kubernetes = append(kubernetes, "kubernetes="+p.Kubernetes.String())
	}
	if cmd.Flag("openshift-version") == nil {
		all = append(all, kubernetes...)
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// Flags adds completion to the flags of a command and its subcommands that have none yet. Values whose names
// are not in byValueName are not completed. It removes the backquotes from the usages, which completion shows. Flags
// that exclude each other are not completed together.
func Flags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		complete := byValueName[name]
		if complete == nil {
			complete = cobra.NoFileCompletions
		}
		if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && f.NoOptDefVal == "" {
			With(cmd, complete, f.Name)
		}
		_, f.Usage = pflag.UnquoteUsage(f)
	})
	for one, other := range cmdline.Exclusions(cmd) {
		cmd.MarkFlagsMutuallyExclusive(one, other) // the library completes neither if the other one is given
	}
	for _, c := range cmd.Commands() {
		Flags(c)
	}
}
