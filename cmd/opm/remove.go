package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/nearest"
)

func removeCmd() *cobra.Command {
	f := editFlags{each: eachFlag{together: true}}
	var e edit.Remove
	return command{
		Use:   "remove CATALOG package|channel|bundle NAME",
		Short: "Remove a package, a channel or a bundle",
		Long: `Remove a package, a channel or a bundle, with its deprecation. A bundle is removed from all
channels, or from that of --channel only.

What the package needs to stay valid is changed only if you ask for it: --reconnect lets bundles
that replace the removed one replace what that replaced, and skip it; --with-bundles also removes
the bundles that only the removed channel has.

In a semver template, NAME is an image, and --channel is candidate, fast or stable.` + editNote,
		Example: `  opm remove catalog bundle kiln.v1.1.1 --reconnect
  opm remove catalog bundle kiln.v1.2.0 --channel candidate --reconnect --dry-run
  opm remove catalog channel candidate --package kiln --with-bundles`,
		args:     kindArgs,
		complete: completion.Args(completion.Files, kinds, namesOfKind),
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVar(&e.Channel, "channel", "", "remove the bundle from `CHANNEL` only")
			flags.BoolVar(&e.Reconnect, "reconnect", false, "reconnect the updates around the bundle")
			flags.BoolVar(&e.WithBundles, "with-bundles", false, "also remove the bundles that only the channel has")
			flags.StringVar(&e.Image, "image", "", "the bundle is `IMAGE`, in a basic template that does not have its name")
			cmdline.Exclude(cmd, "image", "channel")
			f.add(cmd)
		},
		formats: editFormats,
		each:    &f.each,
		do: func(cmd *cobra.Command, args []string) error {
			e.Kind, e.Name = edit.Kind(args[1]), args[2]
			switch {
			case e.Kind != edit.Bundle && (e.Channel != "" || e.Image != "" || e.Reconnect):
				return cmdline.Errorf("--channel, --image and --reconnect are for bundles")
			case e.Kind != edit.Channel && e.WithBundles:
				return cmdline.Errorf("--with-bundles is for channels")
			}
			return f.run(cmd, args[0], e)
		},
	}.cobra()
}

// kindArgs requires the arguments CATALOG KIND NAME.
func kindArgs(cmd *cobra.Command, args []string) error {
	if err := cmdline.WantArgs("CATALOG package|channel|bundle NAME")(cmd, args); err != nil {
		return err
	}
	if words := cmdline.Texts(edit.Kinds()); !slices.Contains(words, args[1]) {
		return cmdline.Errorf("unknown kind %q%s: want %s", args[1], nearest.Hint(args[1], words), cmdline.OneOf(words))
	}
	return nil
}

// kinds completes to the kinds of named objects in a package.
func kinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return cmdline.Texts(edit.Kinds()), cobra.ShellCompDirectiveNoFileComp
}

// namesOfKind completes to the names of the objects of a kind, the second argument, in the catalog of the first.
func namesOfKind(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return completion.NamesOf(edit.Kind(args[1]).Schema())(cmd, args, start)
}
