package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

func graphCmd() *cobra.Command {
	var f graphFlags
	f.each.finish = f.drawAll
	var formats []output.Format
	for _, d := range draw.Formats() {
		formats = append(formats, output.Format(d.Name))
	}
	return command{
		Use:   "graph CATALOG [PACKAGE...]",
		Short: "Draw the upgrade graph of a catalog",
		Long: `Draw the channels of a catalog, or of some of its packages: their bundles, with a line from
each bundle to those that update it. The drawing shows what an entry replaces and skips, what is
in its skipRange, and which bundles are channel heads, skipped, deprecated or missing from the
catalog. A range that matches no bundle of the channel is drawn as one node. So are all ranges of
a channel if they match more than 100,000 bundles together.

mermaid is for Markdown and mermaid.js, which by default draws at most 50,000 characters and 500
links; more is split into a drawing for each package. dot is for Graphviz, and svg is a picture.
html is a page with that picture, to zoom, to search, and to see where each bundle is updated to
in OLM Classic and in OLM v1; it needs no network. json is for programs and includes the next
update of each bundle. The catalog need not be valid.

With --each, the packages of all catalogs are one drawing, with the names of their catalogs; json
is a list of objects with the key catalog.` + catalogNote,
		Example: `  opm graph catalog kiln > kiln.mmd
  opm graph catalog kiln --channel stable -o dot
  opm graph catalog kiln -o html > kiln.html
  opm graph catalog -o json`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringArrayVar(&f.packages, "package", nil, "draw only this `PACKAGE`; repeatable")
			cmd.Flags().StringArrayVar(&f.channels, "channel", nil, "draw only this `CHANNEL`; repeatable")
			completion.With(cmd, completion.ChannelsOfArgs, "channel")
			f.images.addKeepGoing(cmd)
		},
		formats: append(formats, output.YAML),
		images:  &f.images,
		each:    &f.each,
		run:     f.run,
	}.cobra()
}

// graphFlags are the flags of graph.
type graphFlags struct {
	packages []string
	channels []string
	images   imageFlags
	each     eachFlag

	all []*graph.Package // the packages of all catalogs of --each, for one drawing
}

func (f *graphFlags) run(cmd *cobra.Command, args []string) (*output.Result, error) {
	c, err := f.images.openIndex(cmd, declcfg.ReadIndex, args[0])
	if err != nil {
		return nil, err
	}
	defer c.close()
	chosen, err := list.Choose(c.index, slices.Concat(args[1:], f.packages)...)
	if err != nil {
		return nil, err
	}
	var graphs []*graph.Package
	for x := range chosen {
		graphs = append(graphs, graph.NewPackage(x))
	}
	if graphs, err = (draw.Options{Channels: f.channels}).Select(graphs); err != nil {
		return nil, err
	}
	warnOfRanges(cmd, chosen, f.channels...)
	if !f.each.given() || f.each.out != nil {
		return f.drawing(cmd, graphs, args[0]), nil
	}
	for _, g := range graphs {
		g.Name = f.each.now.Name + inCatalog + g.Name
	}
	f.all = append(f.all, graphs...)
	return nil, nil //nolint:nilnil // drawAll prints
}

// inCatalog is between the name of a catalog and the name of its package in a drawing of several catalogs.
const inCatalog = ": "

// drawAll draws the packages of all catalogs of --each, if that is one drawing.
func (f *graphFlags) drawAll(cmd *cobra.Command) error {
	switch {
	case f.each.out != nil:
		return f.each.out.Close()
	case len(f.all) == 0:
		return nil
	}
	return printResult(cmd, f.drawing(cmd, f.all, "--each "+strings.Join(f.each.values, " --each ")))
}

// drawing returns a drawing of packages. Hints name their catalogs with the given arguments.
func (f *graphFlags) drawing(cmd *cobra.Command, graphs []*graph.Package, catalogs string) *output.Result {
	opts := draw.Options{Channels: f.channels}
	opts.TooLarge = func(of []*graph.Package, size draw.MermaidSize) {
		if len(of) > 1 {
			warnOfSize(cmd, "the drawing", size, fmt.Sprintf("it is split by package; to draw one, run: opm graph %s PACKAGE; "+
				"to draw all, run: opm graph %s -o html", catalogs, catalogs))
			return
		}
		pkg := of[0].Name
		if f.each.given() {
			pkg = pkg[strings.LastIndex(pkg, inCatalog)+len(inCatalog):]
		}
		warnOfSize(cmd, fmt.Sprintf("package %q", of[0].Name), size, fmt.Sprintf("draw one channel with --channel, or run: "+
			"opm graph %s %s -o html", catalogs, pkg))
	}
	r := &output.Result{Value: draw.Value(graphs, opts), Streams: true, Other: map[output.Format]func(io.Writer) error{}}
	for _, d := range draw.Formats() {
		r.Other[output.Format(d.Name)] = func(w io.Writer) error { return d.Draw(w, graphs, opts) }
	}
	return r
}

// warnOfSize warns about a Mermaid drawing that is too large for renderers.
func warnOfSize(cmd *cobra.Command, what string, size draw.MermaidSize, advice string) {
	warn(cmd, "%s has %s, and Mermaid renderers draw at most %s by default; %s",
		what, size, draw.MermaidLimit, advice)
}

// renderGraphCmd returns the command, which exists at the top level and, as upstream, below alpha.
func renderGraphCmd(path string) *cobra.Command {
	var opts draw.UpstreamOptions
	var from imageFlags
	return command{
		Use:   "render-graph REF...",
		Short: "Draw the upgrade graph of catalogs as upstream opm does, in Mermaid",
		Long: `Draw the channels of one or more catalogs in Mermaid, byte for byte as upstream opm does,
including its bugs: deprecated or ignored edges may be marked in the wrong package or line, and
names are not escaped. "opm graph" does not have these bugs.

The catalog need not be valid, but each bundle needs a version.

REF is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or a catalog
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an image archive.`,
		Example: "  " + path + ` render-graph catalog > catalog.mmd
  ` + path + ` render-graph catalog --package-name kiln --minimum-edge kiln.v1.1.1`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVarP(&opts.Package, "package-name", "p", "", "draw only this `PACKAGE`")
			flags.StringVar(&opts.Package, "package", "", "same as --package-name")
			flags.StringVar(&opts.MinimumEdge, "minimum-edge", "", "draw only edges from the version of this `BUNDLE` upwards")
			flags.BoolVar(&opts.V0, "draw-v0-semantics", false, "mark bundles that OLM v0 skips, and edges that it ignores")
			cmdline.Exclude(cmd, "package", "package-name")
		},
		images: &from,
		do: func(cmd *cobra.Command, args []string) error {
			c, err := from.openIndex(cmd, draw.ReadUpstream, args...)
			if err != nil {
				return err
			}
			defer c.close()
			warnOfRanges(cmd, c.index.Each())
			opts.TooLarge = func(size draw.MermaidSize) {
				advice := "draw one package with --package, or run: opm graph CATALOG -o html"
				if len(args) == 1 {
					advice = strings.Replace(advice, "CATALOG", args[0], 1)
				}
				warnOfSize(cmd, "the drawing", size, advice)
			}
			return draw.UpstreamMermaid(textOutput(cmd), c.index, opts)
		},
	}.cobra()
}
