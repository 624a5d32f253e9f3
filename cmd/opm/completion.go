package main

import (
	"github.com/spf13/cobra"

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

// files completes to files and directories.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// packages completes to the packages of the catalog in the first argument, ignoring objects that cannot be read.
func packages(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	catalog, err := render.Open(ctx, args[:1], render.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer catalog.Close()
	name := func(o *declcfg.Object) (string, error) {
		if o.Schema == declcfg.SchemaPackage {
			return o.Name, nil
		}
		return "", nil
	}
	var names []string
	for n, err := range declcfg.Map(ctx, name, catalog.Sources...) {
		if err == nil && n != "" {
			names = append(names, n)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeCatalogAndPackages completes a catalog, and then any number of its packages.
func completeCatalogAndPackages(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return files(cmd, args, start)
	}
	return packages(cmd, args, start)
}

// completeNothing disables completion of the values of flags, which are not files.
func completeNothing(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		must(cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions))
	}
}
