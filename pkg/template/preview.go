package template

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// WritePreview writes the channels of a catalog and their entries, highest version first, with their update edges:
//
//	kiln
//	  stable-v1 (default)
//	    kiln.v1.1.0  replaces kiln.v1.0.1, skips kiln.v1.0.0
//	    kiln.v1.0.1
func WritePreview(w io.Writer, x *declcfg.Index) error {
	out := bufio.NewWriter(w)
	for _, index := range x.Packages() {
		p := graph.NewPackage(index)
		if len(p.Channels) == 0 {
			continue
		}
		fmt.Fprintln(out, legible.Name(p.Name))
		for _, c := range p.Channels {
			mark := ""
			if c.Name == p.DefaultChannel {
				mark = " (default)"
			}
			fmt.Fprintf(out, "  %s%s\n", legible.Name(c.Name), mark)
			if err := previewChannel(out, c); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func previewChannel(out io.Writer, c *graph.Channel) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, n := range c.Nodes() {
		if n.Entry == nil {
			continue
		}
		var updates []string
		if n.Entry.Replaces != "" {
			updates = append(updates, "replaces "+n.Entry.Replaces)
		}
		if len(n.Entry.Skips) > 0 {
			updates = append(updates, "skips "+strings.Join(n.Entry.Skips, " "))
		}
		if n.Entry.SkipRange != "" {
			updates = append(updates, "skipRange "+n.Entry.SkipRange)
		}
		line := "    " + legible.Name(n.Name)
		if len(updates) > 0 {
			line += "\t" + legible.Name(strings.Join(updates, ", "))
		}
		fmt.Fprintln(table, line)
	}
	return table.Flush()
}
