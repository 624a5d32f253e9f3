package filter

import (
	"fmt"
	"io"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// WriteChanges writes the changes for people, and the number of kept packages and bundles of the index, a line each.
func (r *Result) WriteChanges(w io.Writer, index *declcfg.Index) {
	for _, c := range r.Changes {
		if c.Kind == LeftOut && c.Bundle != "" {
			continue // a warning has its place
		}
		if c.Kind == LeftOut || c.Kind == Unresolved || c.Kind == Stranded {
			fmt.Fprintf(w, "opm: warning: %s\n", legible.Text(c.String()))
			continue
		}
		fmt.Fprintf(w, "opm: %s\n", c)
	}
	var kept, of struct{ packages, channels, bundles int }
	for _, p := range r.Packages {
		kept.packages++
		kept.channels += len(p.Channels)
		kept.bundles += p.Bundles
	}
	for _, x := range index.Packages() {
		of.packages += len(x.Packages)
		of.channels += len(x.Channels)
		of.bundles += len(x.Bundles)
	}
	fmt.Fprintf(w, "opm: kept %s of %s packages, %s of %s channels, %s of %s bundles\n",
		plural.Number(kept.packages), plural.Number(of.packages), plural.Number(kept.channels), plural.Number(of.channels),
		plural.Number(kept.bundles), plural.Number(of.bundles))
}
