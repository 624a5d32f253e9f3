package resolution

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

// writeDOT draws the chosen bundles: an arrow leads from a request or a bundle to each bundle it requires.
func (r *resolution) writeDOT(w io.Writer) error {
	var text strings.Builder
	text.WriteString("digraph resolution {\n  rankdir=LR\n  node [shape=box]\n")
	if r.Classic != nil {
		for _, d := range r.Classic.Explanation.Decisions {
			from := d.Bundle
			if d.Subscription != "" {
				from = "Subscription " + d.Subscription
			}
			dotArrow(&text, from, d.Chosen, d.Requires)
		}
		dotFailure(&text, "OLM Classic", r.Classic.Outcome, r.Classic.Message)
	}
	if r.V1 != nil {
		for _, c := range r.V1.Install {
			dotArrow(&text, "ClusterExtension "+c.Package, c.Catalog+"/"+c.Bundle, "")
		}
		dotFailure(&text, "OLM v1", r.V1.Outcome, r.V1.Message)
	}
	text.WriteString("}\n")
	_, err := io.WriteString(w, text.String())
	return err
}

func dotArrow(w io.Writer, from, to, label string) {
	fmt.Fprintf(w, "  %s -> %s", draw.Quote(from), draw.Quote(to))
	if label != "" {
		fmt.Fprintf(w, " [label=%s]", draw.Quote(label))
	}
	fmt.Fprintln(w)
}

func dotFailure(w io.Writer, olm string, outcome resolve.Outcome, message string) {
	if outcome != resolve.Resolved {
		fmt.Fprintf(w, "  %s [style=dashed]\n", draw.Quote(fmt.Sprintf("%s: %s", olm, cmp.Or(message, string(outcome)))))
	}
}
