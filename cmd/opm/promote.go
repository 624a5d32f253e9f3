package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/edit"
)

func promoteCmd() *cobra.Command {
	f := editFlags{each: eachFlag{together: true}}
	var e edit.Promote
	return command{
		Use:   "promote CATALOG BUNDLE --to CHANNEL",
		Short: "Put a bundle of a catalog or a template into another channel",
		Long: `Put a bundle that is in one channel into another one too. It replaces the head of that channel,
unless --replaces says otherwise, and keeps the skips and the skipRange that it has.

In a semver template, BUNDLE is an image, and CHANNEL is candidate, fast or stable.` + editNote,
		Example: `  opm promote catalog kiln.v2.0.0-rc.1 --to stable
  opm promote catalog/kiln kiln.v2.0.0-rc.1 --to stable --dry-run`,
		flags: func(cmd *cobra.Command) {
			f.addEntry(cmd, "to", &e.To, &e.Updates, "the channel if the package has none of that name")
			cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
				if name == "channel" { // as of opm add
					name = "to"
				}
				return pflag.NormalizedName(name)
			})
			f.add(cmd)
		},
		formats: editFormats,
		each:    &f.each,
		do: func(cmd *cobra.Command, args []string) error {
			if e.Bundle = args[1]; cmd.Flags().Changed("replaces") {
				e.Updates.Replaces = &f.replaces
			}
			return f.run(cmd, args[0], e)
		},
	}.cobra()
}
