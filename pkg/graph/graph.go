// Package graph computes the upgrade graph of a package: heads, cycles, successors and update paths.
//
// A channel is a list of entries. Each puts one bundle into the channel and names the bundles that it updates:
//
//	entries:
//	- {name: etcd.v3, replaces: etcd.v1, skips: [etcd.v2]} # the head
//	- {name: etcd.v2, replaces: etcd.v1}                   # skipped
//	- {name: etcd.v1}
//
// Users of etcd.v1 and etcd.v2 are offered etcd.v3. Four terms describe the rest:
//
//   - The head is the entry that no entry replaces or skips. New users install it. There must be exactly one.
//   - The chain is the entries reached by following replaces from the head: etcd.v3, etcd.v1. It is ordered from newest
//     to oldest. Versions and the order of the entries do not matter.
//   - A skipped entry is no longer installed, but can be updated from. The chain ends before a skipped entry.
//   - An entry that is neither skipped nor in the chain is stranded: no update path leads from it to the head.
//
// Replaced and skipped bundles need not be in the channel, so users of older ones can update. A skipRange updates a
// range of versions and does not affect any of these terms.
//
// The rules are the channel validation rules of opm; see
// https://olm.operatorframework.io/docs/concepts/olm-architecture/operator-catalog/creating-an-update-graph/.
//
//	for _, problem := range graph.New(channel.Entries).Check() {
//		fmt.Println(problem)
//	}
//
// # Updates
//
// A [Plan] has the next update of every bundle of a package, or the error with which OLM answers. It has the behaviour
// of OLM if that differs from the documentation. Candidates claim the bundles that they update, preferred candidates
// first: by name for replaces and skips, and as intervals of the sorted versions for a skipRange. So a plan takes time
// linear in entries and edges. Ranges have a parser of their own, which is fuzzed against blang/semver.
package graph

import (
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Channel is the update graph of a channel. It is immutable and safe for concurrent use.
//
// Entries without a name are ignored. If several entries have the same name, only the first is in the graph.
type Channel struct {
	Package    string // Package and Name are "" after New
	Name       string
	Deprecated bool

	entries   []declcfg.Entry
	nodes     []int          // indexes in entries of the entries in the graph; all nodes below are such indexes
	index     map[string]int // node by name
	next      []int          // by node: the replaced node, or none
	firstEdge []edge         // by node: the first edge to it; from is none for a head
	skipped   []bool         // by node

	// Set for channels of a Package.
	bundles     []*Bundle     // by node
	members     []*Bundle     // all bundles that are in the channel, replaced or skipped, by rank
	versioned   []*Bundle     // the bundles of the package that have a version, ascending
	ranges      []Range       // by node: the versions of versioned in the skipRange
	rangeErrors map[int]error // by node
}

// An edge is an update to an entry by another entry that replaces or skips it.
type edge struct {
	from int
	skip int // index in the skips of from, or none for replaces
}

// none is the index of a missing node.
const none = -1

// New returns the graph of a channel with these entries, and retains the slice. New and all methods take time linear in
// the number of entries and skips, except for sorting the results.
func New(entries []declcfg.Entry) *Channel {
	c := &Channel{
		entries:   entries,
		index:     make(map[string]int, len(entries)),
		next:      slices.Repeat([]int{none}, len(entries)),
		firstEdge: slices.Repeat([]edge{{from: none}}, len(entries)),
		skipped:   make([]bool, len(entries)),
	}
	for i, e := range entries {
		if _, seen := c.index[e.Name]; e.Name != "" && !seen {
			c.index[e.Name] = i
			c.nodes = append(c.nodes, i)
		}
	}
	for _, i := range c.nodes {
		// Add the edges of an entry. Names that are not in the channel are ignored.
		if to, ok := c.index[c.entries[i].Replaces]; ok {
			c.next[i] = to
			c.addEdge(to, edge{i, none})
		}
		for skip, name := range c.entries[i].Skips {
			if to, ok := c.index[name]; ok {
				c.skipped[to] = true
				c.addEdge(to, edge{i, skip})
			}
		}
	}
	return c
}

// addEdge records an edge to a node, unless the node already has one.
func (c *Channel) addEdge(to int, by edge) {
	if c.firstEdge[to].from == none {
		c.firstEdge[to] = by
	}
}

// Heads returns the sorted names of the entries that no entry replaces or skips. An entry that replaces or skips itself
// is not a head.
func (c *Channel) Heads() []string {
	return c.sortedNames(c.heads())
}

func (c *Channel) heads() []int {
	var heads []int
	for _, i := range c.nodes {
		if c.firstEdge[i].from == none {
			heads = append(heads, i)
		}
	}
	return heads
}

// Chain returns the names of the entries reached by following replaces from the head, the head first. It ends before a
// skipped entry and before an entry that is already in the chain. It is empty unless there is exactly one head.
func (c *Channel) Chain() []string {
	return c.names(c.chain())
}

func (c *Channel) chain() []int {
	heads := c.heads()
	if len(heads) != 1 {
		return nil
	}
	var chain []int
	reached := make([]bool, len(c.entries))
	for i := heads[0]; i != none && !c.skipped[i] && !reached[i]; i = c.next[i] {
		reached[i] = true
		chain = append(chain, i)
	}
	return chain
}

// Stranded returns the sorted names of the entries that are neither in the chain nor skipped. It is empty unless there
// is exactly one head.
func (c *Channel) Stranded() []string {
	return c.sortedNames(c.stranded())
}

func (c *Channel) stranded() []int {
	chain := c.chain()
	if len(chain) == 0 {
		return nil
	}
	useful := slices.Clone(c.skipped)
	for _, i := range chain {
		useful[i] = true
	}
	return slices.DeleteFunc(slices.Clone(c.nodes), func(i int) bool { return useful[i] })
}

// cycles returns the cycles without repeating the first entry. An entry replaces at most one other entry, so following
// replaces leads to at most one cycle, and no two cycles share an entry.
func (c *Channel) cycles() [][]int {
	var cycles [][]int
	walk := slices.Repeat([]int{none}, len(c.entries)) // by node: the start of the first walk that reached it
	for _, start := range c.nodes {
		i := start
		for i != none && walk[i] == none {
			walk[i] = start
			i = c.next[i]
		}
		if i != none && walk[i] == start {
			cycles = append(cycles, c.cycle(i))
		}
	}
	slices.SortFunc(cycles, func(a, b []int) int { return c.byName(a[0], b[0]) })
	return cycles
}

// cycle returns the cycle of replaces that contains an entry, starting with the smallest name.
func (c *Channel) cycle(start int) []int {
	cycle := []int{start}
	for i := c.next[start]; i != start; i = c.next[i] {
		cycle = append(cycle, i)
	}
	return c.leastFirst(cycle)
}

// Bypass returns the entry e without the entry gone, which it replaces: it replaces what gone replaced, and also skips
// gone and what gone skipped, because one of these bundles may be installed.
func Bypass(e, gone declcfg.Entry) declcfg.Entry {
	e.Replaces, e.Skips = gone.Replaces, slices.Clone(e.Skips)
	for _, name := range append([]string{gone.Name}, gone.Skips...) {
		if !slices.Contains(e.Skips, name) {
			e.Skips = append(e.Skips, name)
		}
	}
	return e
}
