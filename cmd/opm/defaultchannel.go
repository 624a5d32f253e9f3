package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/edit"
)

func defaultChannelCmd() *cobra.Command {
	f := editFlags{each: eachFlag{together: true}}
	return command{
		Use:   "default-channel CATALOG CHANNEL",
		Short: "Set the default channel of a package",
		Long:  `Make a channel the default of its package.` + editNote,
		Example: `  opm default-channel catalog/kiln stable
  opm default-channel catalog stable --package kiln --dry-run`,
		flags:   f.add,
		formats: editFormats,
		each:    &f.each,
		do: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0], edit.DefaultChannel{Channel: args[1]})
		},
	}.cobra()
}
