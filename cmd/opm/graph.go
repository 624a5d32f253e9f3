package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
	"github.com/opm-toolchain/opm/pkg/list"
)

// A drawing is a format of graph.
type drawing struct {
	name string
	draw draw.Func
}

// drawings are all formats, the default first.
var drawings = []drawing{
	{"mermaid", draw.Mermaid},
	{"dot", draw.DOT},
	{"svg", draw.SVG},
	{"html", draw.HTML},
	{"json", draw.JSON},
}

func graphCmd() *cobra.Command {
	var f graphFlags
	cmd := &cobra.Command{
		Use:   "graph CATALOG [PACKAGE...]",
		Short: "Draw which bundle updates which",
		Long: `Draw the channels of a catalog, or of some of its packages: the bundles in them, and a line
from each to those that update it. It tells what an entry replaces, what it skips and what is in
its skipRange, and which bundles are the head of their channel, skipped, deprecated or not in
the catalog. A range that holds no bundle of the channel is drawn as a whole, and so are all of
a channel in which they hold more than 100,000 together.

Mermaid is for Markdown and mermaid.js, dot for Graphviz, svg a picture, and html the picture on
a page of its own, which needs no network: to zoom, to search, and to see where each bundle
updates to in OLM Classic and in OLM v1. json, which tells the next update of each bundle too, is
for programs. The catalog need not be valid.

A CATALOG is what list takes: a directory, a file, an archive, "-" or an image.`,
		Example: `  opm graph catalog kiln > kiln.mmd
  opm graph catalog kiln --channel stable -o dot
  opm graph catalog kiln -o html > kiln.html
  opm graph catalog -o json`,
		Args:              atLeastOne("CATALOG"),
		ValidArgsFunction: completeCatalogAndPackages,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	f.add(cmd)
	return cmd
}

// graphFlags are the flags of graph.
type graphFlags struct {
	format   string
	channels []string
	images   imageFlags
}

func (f *graphFlags) add(cmd *cobra.Command) {
	var formats []string
	for _, d := range drawings {
		formats = append(formats, d.name)
	}
	choiceVar(cmd, &f.format, "output", "o", formats[0], "output format", formats...)
	cmd.Flags().StringArrayVar(&f.channels, "channel", nil, "draw only this `CHANNEL`; may be given more than once")
	completeNothing(cmd, "channel")
	f.images.add(cmd)
}

func (f *graphFlags) run(cmd *cobra.Command, ref string, names []string) error {
	return readIndex(cmd, []string{ref}, &f.images, func(index *declcfg.Index) error {
		chosen, err := list.Choose(index, names...)
		if err != nil {
			return err
		}
		var graphs []*graph.Package
		for _, x := range chosen {
			graphs = append(graphs, graph.NewPackage(x))
		}
		opts := draw.Options{Channels: f.channels}
		if graphs, err = withChannels(graphs, opts); err != nil {
			return err
		}
		warnOfRanges(cmd, chosen, f.channels...)
		format := slices.IndexFunc(drawings, func(d drawing) bool { return d.name == f.format })
		return drawings[format].draw(cmd.OutOrStdout(), graphs, opts)
	})
}

// withChannels returns the packages of which a channel is drawn; all of them where all channels are. Each channel that
// is asked for must be in one of them.
func withChannels(packages []*graph.Package, opts draw.Options) ([]*graph.Package, error) {
	if opts.Channels == nil {
		return packages, nil
	}
	known := map[string]bool{}
	var with []*graph.Package
	for _, p := range packages {
		for _, c := range p.Channels {
			known[c.Name] = true
		}
		if len(opts.ChannelsOf(p)) > 0 {
			with = append(with, p)
		}
	}
	for _, name := range opts.Channels {
		if !known[name] {
			hint := nearest.Hint(name, slices.Collect(maps.Keys(known)))
			return nil, fmt.Errorf("no channel %q%s: %w", name, hint, declcfg.ErrNotFound)
		}
	}
	return with, nil
}
