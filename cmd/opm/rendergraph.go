package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

// renderGraphCmd returns the command, below alpha as upstream or at the top level.
func renderGraphCmd(path string) *cobra.Command {
	var opts draw.UpstreamOptions
	var from imageFlags
	cmd := &cobra.Command{
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
		Args: atLeastOne("REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readIndex(cmd, args, &from, draw.CheckUpstream, func(index *declcfg.Index) error {
				warnOfRanges(cmd, index.Packages())
				opts.TooLarge = func(size draw.MermaidSize) {
					advice := "draw one package with --package, or run: opm graph CATALOG -o html"
					if len(args) == 1 {
						advice = strings.Replace(advice, "CATALOG", args[0], 1)
					}
					warnOfSize(cmd, "the drawing", size, advice)
				}
				return draw.UpstreamMermaid(textOutput(cmd), index, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.Package, "package-name", "p", "", "draw only this `PACKAGE`")
	flags.StringVar(&opts.Package, "package", "", "same as --package-name")
	flags.StringVar(&opts.MinimumEdge, "minimum-edge", "", "draw only edges from the version of this `BUNDLE` upwards")
	flags.BoolVar(&opts.V0, "draw-v0-semantics", false, "mark bundles that OLM v0 skips, and edges that it ignores")
	exclude(cmd, "package", "package-name")
	addReadFlags(cmd, &from)
	return cmd
}
