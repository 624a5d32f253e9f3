package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/edit"
)

func deprecateCmd() *cobra.Command {
	var f editFlags
	var message string
	var undo bool
	cmd := &cobra.Command{
		Use:   "deprecate CATALOG package|channel|bundle NAME --message TEXT",
		Short: "Deprecate a package, a channel or a bundle",
		Long: `Deprecate a package, a channel or a bundle with a message for its users, or change the message.
--undo removes the deprecation.` + editNote,
		Example: `  opm deprecate catalog bundle kiln.v1.0.0 --message "kiln 1.0 is not supported any more; update to 1.1"
  opm deprecate catalog channel candidate --package kiln --message "use the channel stable"
  opm deprecate catalog bundle kiln.v1.0.0 --undo`,
		Args:              kindArgs,
		ValidArgsFunction: completeArgs(files, kinds, namesOfKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if message == "" && !undo {
				return usageError{errors.New("--message or --undo is missing")}
			}
			e := edit.Deprecate{Kind: edit.Kind(args[1]), Name: args[2], Message: message, Undo: undo}
			return f.run(cmd, args[0], e)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&message, "message", "m", "", "tell users `TEXT`: why, and what to use instead")
	flags.BoolVar(&undo, "undo", false, "remove the deprecation")
	exclude(cmd, "undo", "message")
	completeNothing(cmd, "message")
	f.add(cmd)
	return cmd
}
