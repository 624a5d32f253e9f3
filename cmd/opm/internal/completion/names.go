package completion

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// Bundles completes to names of bundles; see [NamesOf].
var Bundles = NamesOf(declcfg.SchemaBundle)

var (
	packages = NamesOf(declcfg.SchemaPackage)
	channels = NamesOf(declcfg.SchemaChannel)
)

// NamesOf completes to the names of the objects of a schema in the catalog in the first argument, or the first of
// --each, ignoring objects that cannot be read. If --package or --package-name is given, only channels and bundles of
// that package are completed.
func NamesOf(schema string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if args = WithFirstOfEach(cmd, args); len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var of []string
		if schema != declcfg.SchemaPackage {
			of = chosenPackages(cmd)
		}
		return catalogNames(cmd, args[0], schema, of), cobra.ShellCompDirectiveNoFileComp
	}
}

// ChannelsOfArgs completes channels for commands whose further arguments are packages.
func ChannelsOfArgs(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if args = WithFirstOfEach(cmd, args); len(args) < 2 {
		return channels(cmd, args, start)
	}
	return catalogNames(cmd, args[0], declcfg.SchemaChannel, args[1:]), cobra.ShellCompDirectiveNoFileComp
}

// ChannelsOfSecond completes channels for a command whose second argument is the catalog.
func ChannelsOfSecond(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return channels(cmd, args[min(1, len(args)):], start)
}

// WithFirstOfEach returns the arguments with the first catalog of --each, if that is given, before them.
func WithFirstOfEach(cmd *cobra.Command, args []string) []string {
	flag := cmd.Flags().Lookup("each")
	if flag == nil || !flag.Changed {
		return args
	}
	values := flag.Value.(pflag.SliceValue).GetSlice() // twice, since cobra parses flags twice to complete them
	named, err := input.Each(values[:1])
	if err != nil {
		return args
	}
	if refs, err := reference.ParseNamed(named); err == nil && len(refs) > 0 {
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

// packageChannels completes PACKAGE:CHANNEL: the package and, after a colon, its channels.
func packageChannels(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	pkg, _, ok := strings.Cut(start, ":")
	args = WithFirstOfEach(cmd, args)
	if !ok || len(args) == 0 {
		return packages(cmd, args, start)
	}
	names := catalogNames(cmd, args[0], declcfg.SchemaChannel, []string{pkg})
	for i, name := range names {
		names[i] = pkg + ":" + name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
