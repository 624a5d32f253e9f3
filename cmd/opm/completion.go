package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// completeArgs completes each argument with its own function, and nothing after the last.
func completeArgs(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd, args, start)
	}
}

// completeUsage completes the arguments that a usage line names: the first one to files, unless it is a directory, and
// others by byValueName. The last one is completed again if it can be repeated.
func completeUsage(usage string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		want, i := cmdline.ArgumentsOf(usage), len(args)
		if want.Many {
			i = min(i, len(want.Names)-1)
		}
		switch {
		case i >= len(want.Names):
			return nil, cobra.ShellCompDirectiveNoFileComp
		case i == 0 && want.Names[0] != "DIRECTORY":
			return files(cmd, args, start)
		}
		if complete := byValueName[want.Names[i]]; complete != nil {
			return complete(cmd, args, start)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// files completes to files and directories.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// packages, channels and bundles complete to the names in the catalog in the first argument, or the first of --each,
// ignoring objects that cannot be read. If --package or --package-name is given, only channels and bundles of that
// package are completed.
var (
	packages = namesOf(declcfg.SchemaPackage)
	channels = namesOf(declcfg.SchemaChannel)
	bundles  = namesOf(declcfg.SchemaBundle)
)

func namesOf(schema string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if args = withFirstOfEach(cmd, args); len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var of []string
		if schema != declcfg.SchemaPackage {
			of = chosenPackages(cmd)
		}
		return catalogNames(cmd, args[0], schema, of), cobra.ShellCompDirectiveNoFileComp
	}
}

// channelsOfArgs completes channels for commands whose further arguments are packages.
func channelsOfArgs(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if args = withFirstOfEach(cmd, args); len(args) < 2 {
		return channels(cmd, args, start)
	}
	return catalogNames(cmd, args[0], declcfg.SchemaChannel, args[1:]), cobra.ShellCompDirectiveNoFileComp
}

// channelsOfSecond completes channels for a command whose second argument is the catalog.
func channelsOfSecond(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return channels(cmd, args[min(1, len(args)):], start)
}

// withFirstOfEach returns the arguments with the first catalog of --each, if that is given, before them.
func withFirstOfEach(cmd *cobra.Command, args []string) []string {
	flag := cmd.Flags().Lookup("each")
	if flag == nil || !flag.Changed {
		return args
	}
	values := flag.Value.(pflag.SliceValue).GetSlice() // twice, since cobra parses flags twice to complete them
	if refs, err := (&eachFlag{values: values[:1]}).refs(); err == nil && len(refs) > 0 {
		return slices.Insert(slices.Clone(args), 0, refs[0].Ref)
	}
	return args
}

// chosenPackages returns the values of the flags that name packages.
func chosenPackages(cmd *cobra.Command) []string {
	var chosen []string
	for _, flag := range []string{"package", "package-name"} {
		switch f := cmd.Flags().Lookup(flag); {
		case f == nil || f.Value.String() == "":
		default:
			if all, ok := f.Value.(pflag.SliceValue); ok {
				chosen = append(chosen, all.GetSlice()...)
			} else {
				chosen = append(chosen, f.Value.String())
			}
		}
	}
	return chosen
}

// catalogNames returns the names of the objects of a schema, each once, in the given packages, or in all packages if
// none are given.
func catalogNames(cmd *cobra.Command, ref, schema string, of []string) []string {
	ctx := cmd.Context()
	catalog, err := render.Open(ctx, []string{ref}, render.Options{})
	if err != nil {
		return nil
	}
	defer catalog.Close()
	name := func(o *declcfg.Object) (string, error) {
		if o.Schema == schema && (len(of) == 0 || slices.Contains(of, o.Owner())) {
			return o.Name, nil
		}
		return "", nil
	}
	var names []string
	seen := map[string]bool{"": true}
	for n, err := range declcfg.Map(ctx, name, catalog.Sources...) {
		if err == nil && !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
}

// listOf completes the last word of a comma-separated list.
func listOf(words func() []string) cobra.CompletionFunc {
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

// completeWith completes the values of flags.
func completeWith(cmd *cobra.Command, complete cobra.CompletionFunc, flags ...string) {
	for _, flag := range flags {
		cmdline.Must(cmd.RegisterFlagCompletionFunc(flag, complete))
	}
}

// completeNothing disables completion of the values of flags, which are not files.
func completeNothing(cmd *cobra.Command, flags ...string) {
	completeWith(cmd, cobra.NoFileCompletions, flags...)
}

// byValueName maps the names of flag values in help texts to their completions.
var byValueName = map[string]cobra.CompletionFunc{
	"DIRECTORY": directories, "FILE": files, "CATALOG": files, "PATH": files, "[NAMESPACE/]NAME=CATALOG": files,
	"PACKAGE": packages, "PACKAGE[:CHANNEL,...][@RANGE]": packageChannels, "PACKAGE:CHANNEL": packageChannels,
	"CHANNEL": channels, "BUNDLE": bundles, "TARGET": targets, "ocp=X.Y": targets,
	"NEW": files, "FROM": bundles, "TO": bundles,
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

// packageChannels completes PACKAGE:CHANNEL: the package and, after a colon, its channels.
func packageChannels(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	pkg, _, ok := strings.Cut(start, ":")
	args = withFirstOfEach(cmd, args)
	if !ok || len(args) == 0 {
		return packages(cmd, args, start)
	}
	names := catalogNames(cmd, args[0], declcfg.SchemaChannel, []string{pkg})
	for i, name := range names {
		names[i] = pkg + ":" + name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFlags adds completion to the flags of a command and its subcommands that have none yet. Values whose names
// are not in byValueName are not completed. It removes the backquotes from the usages, which completion shows. Flags
// that exclude each other are not completed together.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		complete := byValueName[name]
		if complete == nil {
			complete = cobra.NoFileCompletions
		}
		if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && f.NoOptDefVal == "" {
			completeWith(cmd, complete, f.Name)
		}
		_, f.Usage = pflag.UnquoteUsage(f)
	})
	for one, other := range cmdline.Exclusions(cmd) {
		cmd.MarkFlagsMutuallyExclusive(one, other) // the library completes neither if the other one is given
	}
	for _, c := range cmd.Commands() {
		completeFlags(c)
	}
}
