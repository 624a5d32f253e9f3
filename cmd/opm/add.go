package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/edit"
	"github.com/opm-toolchain/opm/pkg/render"
)

func addCmd() *cobra.Command {
	var f editFlags
	var from bundleRendering
	var channel string
	cmd := &cobra.Command{
		Use:   "add BUNDLE CATALOG --channel CHANNEL",
		Short: "Add a bundle to a catalog or a template",
		Long: `Add a bundle to its package, and put it into a channel. It replaces the head of the channel,
unless --replaces says otherwise.

BUNDLE is an image, a bundle directory, or a file with a rendered bundle. In a semver template,
CHANNEL is candidate, fast or stable.` + editNote,
		Example: `  opm add registry.example/pottery/kiln-bundle:v2.0.0 catalog --channel candidate
  opm add bundle catalog --channel stable --skips kiln.v1.1.0 --skip-range ">=1.0.0 <2.1.0"
  opm add registry.example/pottery/kiln-bundle:v2.0.0 templates/semver.yaml --channel candidate`,
		Args:              exactArgs("BUNDLE", "CATALOG"),
		ValidArgsFunction: completeArgs(files, files),
	}
	cmd.Flags().StringVar(&channel, "channel", "", "put the bundle into `CHANNEL`")
	must(cmd.MarkFlagRequired("channel"))
	completeWith(cmd, channelsOfSecond, "channel")
	updates := addUpdates(cmd)
	from.bundles.addImageRef(cmd)
	from.add(cmd)
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := from.readBundle(cmd, args[0])
		if err != nil {
			return err
		}
		return f.run(cmd, args[1], edit.Add{Bundle: b, Channel: channel, Updates: updates()})
	}
	return cmd
}

// readBundle renders the bundle that an edit adds.
func (f *bundleRendering) readBundle(cmd *cobra.Command, ref string) (*declcfg.Bundle, error) {
	opts, closeAll, err := f.open(cmd)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	catalog, err := render.Open(cmd.Context(), []string{ref}, opts)
	if err != nil {
		return nil, err
	}
	defer catalog.Close()
	metas, err := catalog.Metas(cmd.Context())
	if err != nil {
		return nil, err
	}
	if len(metas) != 1 || metas[0].Schema != declcfg.SchemaBundle {
		return nil, fmt.Errorf("add %q: want one bundle, found a catalog with %d objects", ref, len(metas))
	}
	v, err := metas[0].Decode()
	if err != nil {
		return nil, err
	}
	b := v.(*declcfg.Bundle) //nolint:forcetypeassert // by its schema
	return b, catalog.Edit(b)
}
