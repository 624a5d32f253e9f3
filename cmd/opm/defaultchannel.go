package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/edit"
)

func defaultChannelCmd() *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use:   "default-channel CATALOG CHANNEL",
		Short: "Set the default channel of a package",
		Long:  `Make a channel the default of its package.` + editNote,
		Example: `  opm default-channel catalog/kiln stable
  opm default-channel catalog stable --package kiln --dry-run`,
		Args:              exactArgs("CATALOG", "CHANNEL"),
		ValidArgsFunction: completeArgs(files, channels),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0], edit.DefaultChannel{Channel: args[1]})
		},
	}
	f.add(cmd)
	return cmd
}
