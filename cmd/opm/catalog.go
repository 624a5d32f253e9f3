package main

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/render"
)

// openCatalog opens references to catalogs, images included. Closing the catalog is done by closeAll.
func (f *imageFlags) openCatalog(
	cmd *cobra.Command, refs ...string,
) (catalog *render.Catalog, closeAll func(), err error) {
	return f.openWith(cmd, openOptions(cmd), refs)
}

// openWith is openCatalog with options, of which it sets the images.
func (f *imageFlags) openWith(
	cmd *cobra.Command, opts render.Options, refs []string,
) (catalog *render.Catalog, closeAll func(), err error) {
	images, err := f.open(cmd)
	if err != nil {
		return nil, nil, err
	}
	opts.Images = images.opener
	catalog, err = render.Open(cmd.Context(), refs, opts)
	if err != nil {
		images.close()
		return nil, nil, err
	}
	return catalog, func() {
		catalog.Close()
		images.close()
	}, nil
}

// readIndex calls use with what references to catalogs hold, while it can be read again.
func readIndex(cmd *cobra.Command, refs []string, from *imageFlags, use func(*declcfg.Index) error) error {
	done := progress(cmd, "reading")
	defer done()
	catalog, closeAll, err := from.openCatalog(cmd, refs...)
	if err != nil {
		return err
	}
	defer closeAll()
	index, err := declcfg.ReadIndex(cmd.Context(), catalog.Sources...)
	if err != nil {
		return err
	}
	done()
	return use(index)
}

// warnOfRanges warns of skipRanges that cannot be read, in all channels or, if any are named, in those.
func warnOfRanges(cmd *cobra.Command, packages []*declcfg.PackageIndex, channels ...string) {
	for _, p := range packages {
		for _, o := range p.Channels {
			if channels != nil && !slices.Contains(channels, o.Value.Name) {
				continue
			}
			for i, e := range o.Value.Entries {
				if _, err := graph.ParseRange(e.SkipRange); e.SkipRange != "" && err != nil {
					ptr := jsontext.Pointer(fmt.Sprintf("/entries/%d/skipRange", i))
					what := fmt.Sprintf("package %q: channel %q: %s: %q is ignored: %v",
						p.Name, o.Value.Name, declcfg.Path(ptr), e.SkipRange, err)
					fmt.Fprintln(cmd.ErrOrStderr(), placed(o.Meta.Place(ptr), "warning", what))
				}
			}
		}
	}
}
