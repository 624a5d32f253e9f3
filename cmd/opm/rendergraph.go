package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

// renderGraphCmd returns the command as upstream has it below alpha, or as it stands at the top.
func renderGraphCmd(path string) *cobra.Command {
	var opts draw.UpstreamOptions
	var from imageFlags
	cmd := &cobra.Command{
		Use:   "render-graph REF...",
		Short: "Draw the updates of catalogs in Mermaid as upstream opm does",
		Long: `Draw the channels of one or more catalogs in Mermaid, byte for byte as upstream opm does. That
includes its mistakes: marks of what is deprecated or never followed may stand at the wrong
package or line, and names are not escaped. "opm graph" is right.

The catalog need not be valid, but each bundle needs its version.

A REF is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or a catalog
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an archive of images.`,
		Example: "  " + path + ` render-graph catalog > catalog.mmd
  ` + path + ` render-graph catalog --package-name kiln --minimum-edge kiln.v1.1.1`,
		Args: atLeastOne("REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readIndex(cmd, args, &from, func(index *declcfg.Index) error {
				warnOfRanges(cmd, index.Packages())
				return draw.UpstreamMermaid(cmd.OutOrStdout(), index, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.Package, "package-name", "p", "", "draw only this `PACKAGE`")
	flags.StringVar(&opts.MinimumEdge, "minimum-edge", "", "draw only edges from the version of this `BUNDLE` on")
	flags.BoolVar(&opts.V0, "draw-v0-semantics", false, "mark bundles that OLM v0 skips, and edges that it ignores")
	completeNothing(cmd, "package-name", "minimum-edge")
	from.add(cmd)
	return cmd
}
