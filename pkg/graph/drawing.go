package graph

import (
	"cmp"
	"io"
	"iter"
	"slices"

	"github.com/blang/semver/v4"
)

// DrawOptions say what of the packages is drawn. The zero value draws all of them.
type DrawOptions struct {
	Channels []string // names of those to draw, of whichever package; nil for all
}

// A DrawFunc writes a drawing of packages, in their order, such as [WriteMermaid]. The error is that of w.
type DrawFunc func(w io.Writer, packages []*Package, o DrawOptions) error

// Draws tells whether a channel is drawn.
func (o DrawOptions) Draws(c *Channel) bool {
	return o.Channels == nil || slices.Contains(o.Channels, c.Name)
}

// ChannelsOf returns the channels of a package that are drawn, by name.
func (o DrawOptions) ChannelsOf(p *Package) []*Channel {
	return slices.DeleteFunc(slices.Clone(p.Channels), func(c *Channel) bool { return !o.Draws(c) })
}

// A Drawing is what there is to see of a channel: its nodes, and the links between them. All formats show the same.
type Drawing struct {
	Nodes []Node // one for each of [Channel.Members], the highest version first

	channel   *Channel
	at        map[string]int // the node of a name
	versioned []*Bundle      // the last ones of Members, which have a version; it ascends
	fold      bool           // ranges are drawn as a whole
}

// A Node is a bundle that a channel names.
type Node struct {
	*Bundle
	Entry     bool   // an entry of the channel puts it there, and not just an edge leads from it
	Head      bool   // no entry replaces or skips it
	Skipped   bool   // an entry skips it
	SkipRange string // of its entry
}

// A Link is one reason why an entry of a channel updates a bundle.
type Link struct {
	From, To int    // in Nodes, from the old bundle to the new one; From is -1 for a range as a whole
	By       Edge   // Replaces, Skips or SkipRange
	Range    string // the skipRange; "" for the other edges
	Bundles  int    // in the range, if it is drawn as a whole
}

// maxRangeLinks is how many links the ranges of a channel may have. As each bundle has one to every later one, the
// links of 100,000 bundles would fill hundreds of gigabytes, and nobody can look at even this many.
const maxRangeLinks = 100_000

// Draw returns what there is to see of a channel, which must be one of a Package.
func (c *Channel) Draw() *Drawing {
	unversioned := 0
	for unversioned < len(c.members) && c.members[unversioned].Version == nil {
		unversioned++
	}
	d := &Drawing{channel: c, at: make(map[string]int, len(c.members)), versioned: c.members[unversioned:]}
	for _, b := range slices.Backward(c.members) {
		d.at[b.Name] = len(d.Nodes)
		d.Nodes = append(d.Nodes, Node{Bundle: b})
	}
	covered := 0
	for _, i := range c.nodes {
		e := c.entries[i]
		n := &d.Nodes[d.at[e.Name]]
		n.Entry, n.SkipRange = true, e.SkipRange
		for _, skip := range e.Skips {
			if to, ok := d.at[skip]; ok {
				d.Nodes[to].Skipped = true
			}
		}
		covered += d.size(c.ranges[i])
	}
	for _, i := range c.heads() {
		d.Nodes[d.at[c.entries[i].Name]].Head = true
	}
	d.fold = covered > maxRangeLinks
	return d
}

// size returns how many nodes have their version in the range.
func (d *Drawing) size(r Range) int {
	n := 0
	for i, j := range d.in(r) {
		n += j - i
	}
	return n
}

// in yields the nodes with versions in the range, as intervals from i to j, less than j, of versioned.
func (d *Drawing) in(r Range) func(yield func(i, j int) bool) {
	return r.in(len(d.versioned), func(i int) semver.Version { return d.versioned[i].semver() })
}

// Links yields what updates what, by the node that it leads to: from what the entry replaces, from what it skips, in
// its order, and from what has its version in the skipRange, the lowest first, unless one of the other links is there
// already.
//
// A range that holds no node is one link from nowhere. So is each range of a channel in which they hold more than
// 100,000 nodes together.
func (d *Drawing) Links() iter.Seq[Link] {
	return func(yield func(Link) bool) {
		linked := make([]int, len(d.Nodes)) // by node: 1 + the last node that an edge other than a range leads to
		for _, entry := range d.entries() {
			if !d.named(entry, linked, yield) || !d.ranged(entry, linked, yield) {
				return
			}
		}
	}
}

// entries returns the entries by their nodes.
func (d *Drawing) entries() []int {
	return slices.SortedFunc(slices.Values(d.channel.nodes), func(i, j int) int {
		return cmp.Compare(d.node(i), d.node(j))
	})
}

// node returns the node of an entry.
func (d *Drawing) node(entry int) int { return d.at[d.channel.entries[entry].Name] }

// named yields the links from what an entry names, each once.
func (d *Drawing) named(entry int, linked []int, yield func(Link) bool) bool {
	e, to := d.channel.entries[entry], d.node(entry)
	if from, ok := d.at[e.Replaces]; ok {
		linked[from] = 1 + to
		if !yield(Link{From: from, To: to, By: Replaces}) {
			return false
		}
	}
	seen := make(map[int]bool, len(e.Skips))
	for _, skip := range e.Skips {
		from, ok := d.at[skip]
		if !ok || seen[from] {
			continue
		}
		seen[from] = true
		linked[from] = 1 + to
		if !yield(Link{From: from, To: to, By: Skips}) {
			return false
		}
	}
	return true
}

// ranged yields the links from what is in the range of an entry.
func (d *Drawing) ranged(entry int, linked []int, yield func(Link) bool) bool {
	r, to := d.channel.ranges[entry], d.node(entry)
	link := Link{From: -1, To: to, By: SkipRange, Range: d.channel.entries[entry].SkipRange}
	if link.Range == "" || d.channel.rangeErrors[entry] != nil {
		return true
	}
	if n := d.size(r); d.fold || n == 0 {
		link.Bundles = n
		return yield(link)
	}
	for i, j := range d.in(r) {
		for ; i < j; i++ {
			link.From = len(d.versioned) - 1 - i // nodes are in the opposite order
			if linked[link.From] != 1+to && !yield(link) {
				return false
			}
		}
	}
	return true
}
