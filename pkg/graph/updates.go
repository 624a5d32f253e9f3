package graph

import (
	"iter"
	"slices"
)

// Updates yields the bundles of the catalog that update others, in the order of Bundles, each with all bundles that it
// has an edge to in some channel. It yields every edge, whether or not OLM would choose it, except for edges from a
// bundle to itself.
func (p *Package) Updates() iter.Seq2[*Bundle, []*Bundle] {
	entries := entriesOf(p.Channels)
	versioned := p.Bundles[firstVersion(p.Bundles):]
	return func(yield func(to *Bundle, from []*Bundle) bool) {
		for _, to := range p.Bundles {
			var from []*Bundle
			for _, e := range entries[to] {
				entry := e.channel.entries[e.node]
				for _, name := range append(slices.Clone(entry.Skips), entry.Replaces) {
					if b := p.Bundle(name); b != nil {
						from = append(from, b)
					}
				}
				for i, j := range e.channel.ranges[e.node].indexes(versioned) {
					from = append(from, versioned[i:j]...)
				}
			}
			from = slices.DeleteFunc(byRank(from), func(b *Bundle) bool { return b == to })
			if !to.Virtual && len(from) > 0 && !yield(to, from) {
				return
			}
		}
	}
}
