package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/edit"
)

func promoteCmd() *cobra.Command {
	var f editFlags
	var to string
	cmd := &cobra.Command{
		Use:   "promote CATALOG BUNDLE --to CHANNEL",
		Short: "Put a bundle of a catalog or a template into another channel",
		Long: `Put a bundle that is in one channel into another one too. It replaces the head of that channel,
unless --replaces says otherwise, and keeps the skips and the skipRange that it has.

In a semver template, BUNDLE is an image, and CHANNEL is candidate, fast or stable.` + editNote,
		Example: `  opm promote catalog kiln.v2.0.0-rc.1 --to stable
  opm promote catalog/kiln kiln.v2.0.0-rc.1 --to stable --dry-run`,
		Args:              exactArgs("CATALOG", "BUNDLE"),
		ValidArgsFunction: completeArgs(files, bundles),
	}
	cmd.Flags().StringVar(&to, "to", "", "put the bundle into `CHANNEL`")
	must(cmd.MarkFlagRequired("to"))
	completeWith(cmd, channels, "to")
	updates := addUpdates(cmd)
	cmd.Flags().BoolVar(&f.create, "create", false, "create the channel if the package has none of that name")
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, args[0], edit.Promote{Bundle: args[1], To: to, Updates: updates()})
	}
	return cmd
}
