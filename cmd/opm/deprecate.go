package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/edit"
)

func deprecateCmd() *cobra.Command {
	f := editFlags{each: eachFlag{together: true}}
	var e edit.Deprecate
	return command{
		Use:   "deprecate CATALOG package|channel|bundle NAME --message TEXT",
		Short: "Deprecate a package, a channel or a bundle",
		Long: `Deprecate a package, a channel or a bundle with a message for its users, or change the message.
--undo removes the deprecation.` + editNote,
		Example: `  opm deprecate catalog bundle kiln.v1.0.0 --message "kiln 1.0 is no longer supported; update to 1.1"
  opm deprecate catalog channel candidate --package kiln --message "use the channel stable"
  opm deprecate catalog bundle kiln.v1.0.0 --undo`,
		args:     kindArgs,
		complete: completion.Args(completion.Files, kinds, namesOfKind),
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVarP(&e.Message, "message", "m", "", "tell users `TEXT`: why, and what to use instead")
			flags.BoolVar(&e.Undo, "undo", false, "remove the deprecation")
			cmdline.Exclude(cmd, "undo", "message")
			f.add(cmd)
		},
		formats: editFormats,
		each:    &f.each,
		do: func(cmd *cobra.Command, args []string) error {
			if e.Message == "" && !e.Undo {
				return cmdline.Errorf("--message or --undo is missing")
			}
			e.Kind, e.Name = edit.Kind(args[1]), args[2]
			return f.run(cmd, args[0], e)
		},
	}.cobra()
}
