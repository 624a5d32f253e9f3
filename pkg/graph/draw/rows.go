package draw

import (
	"math"
	"slices"
	"sort"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// rows is the order of the nodes of a channel in its lane.
type rows struct {
	nodes []int // node by row, from the top
	of    []int // row by node
	chain []int // by node: its index in the order of OLM Classic, or none
	order error // error if OLM Classic has no such order
}

const none = -1

// newRows sorts the nodes of a channel into rows. Bundles in the order of OLM Classic keep that order. Other bundles
// are placed between them by version, below the bundles that update them; a bundle without a version is directly below
// these.
func newRows(c *graph.Channel, nodes []graph.Node, links []link) *rows {
	r := &rows{of: make([]int, len(nodes)), chain: slices.Repeat([]int{none}, len(nodes))}
	chain := r.follow(c, nodes)
	above := newAbove(chain, nodes)
	updaters := make([][]int, len(nodes))
	for _, l := range links {
		if l.by != graph.SkipRange {
			updaters[l.from] = append(updaters[l.from], l.to)
		}
	}
	place := slices.Clone(r.chain) // by node: the number of bundles of the chain above it
	gaps := make([][]int, len(chain)+1)
	for node := range nodes {
		if r.chain[node] == none {
			place[node] = r.gap(node, nodes, above, place, updaters[node])
			gaps[place[node]] = append(gaps[place[node]], node)
		}
	}
	for i, gap := range gaps {
		r.nodes = append(r.nodes, gap...)
		if i < len(chain) {
			r.nodes = append(r.nodes, chain[i])
		}
	}
	for row, node := range r.nodes {
		r.of[node] = row
	}
	return r
}

// follow returns the order of OLM Classic as nodes.
func (r *rows) follow(c *graph.Channel, nodes []graph.Node) []int {
	var names []string
	names, r.order = c.Order()
	if r.order != nil {
		return nil
	}
	at := make(map[string]int, len(nodes))
	for i, n := range nodes {
		at[n.Name] = i
	}
	chain := make([]int, len(names))
	for i, name := range names {
		chain[i] = at[name]
		r.chain[at[name]] = i
	}
	return chain
}

// gap returns the number of bundles of the chain above a node that is not in the chain.
func (r *rows) gap(node int, nodes []graph.Node, above above, place []int, updaters []int) int {
	least, most := math.MaxInt, none // bundles of the chain down to an updater: the minimum and maximum of all updaters
	for _, u := range updaters {
		if place[u] == none { // its place is not yet known
			continue
		}
		p := place[u]
		if r.chain[u] != none {
			p++
		}
		least, most = min(least, p), max(most, p)
	}
	switch v := nodes[node].Version; {
	case v != nil && most == none:
		return above.count(*v)
	case v != nil:
		return max(above.count(*v), least)
	case most == none:
		return len(above.lowest)
	}
	return most
}

// above counts the bundles of a chain above a version.
type above struct {
	lowest []*declcfg.Version // by index in the chain: the lowest version up to there
}

func newAbove(chain []int, nodes []graph.Node) above {
	a := above{make([]*declcfg.Version, len(chain))}
	var lowest *declcfg.Version
	for i, node := range chain {
		if v := nodes[node].Version; v != nil && (lowest == nil || v.Compare(*lowest) < 0) {
			lowest = v
		}
		a.lowest[i] = lowest
	}
	return a
}

// count returns the number of bundles in the chain before the first lower version.
func (a above) count(v declcfg.Version) int {
	return sort.Search(len(a.lowest), func(i int) bool { return a.lowest[i] != nil && a.lowest[i].Compare(v) < 0 })
}
