package draw

import (
	"io"
	"iter"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Options select what is drawn. The zero value draws everything.
type Options struct {
	Channels []string // names of the channels to draw in all packages; nil draws all

	// TooLarge is called by [Mermaid] with what renderers refuse to draw, and its size: several packages, which are then
	// drawn one by one, or one, which is drawn nonetheless. It may be nil.
	TooLarge func(packages []*graph.Package, size MermaidSize)
}

// A Func writes a drawing of packages, in their order, such as [Mermaid]. The error is that of w.
type Func func(w io.Writer, packages []*graph.Package, o Options) error

// A Format is a named drawing.
type Format struct {
	Name string
	Draw Func
}

// Formats returns all formats, the default first.
func Formats() []Format {
	return []Format{{"mermaid", Mermaid}, {"dot", DOT}, {"svg", SVG}, {"html", HTML}, {"json", JSON}}
}

// Select returns the packages of which a channel is drawn. The error wraps [declcfg.ErrNotFound] if none of the
// packages has a channel that the options name.
func (o Options) Select(packages []*graph.Package) ([]*graph.Package, error) {
	if o.Channels == nil {
		return packages, nil
	}
	var known []string
	var selected []*graph.Package
	for _, p := range packages {
		for _, c := range p.Channels {
			known = append(known, c.Name)
		}
		if len(o.ChannelsOf(p)) > 0 {
			selected = append(selected, p)
		}
	}
	for _, name := range o.Channels {
		if !slices.Contains(known, name) {
			return nil, declcfg.NotFound("no channel", name, known)
		}
	}
	return selected, nil
}

// Draws reports whether channels of that name are drawn.
func (o Options) Draws(channel string) bool {
	return o.Channels == nil || slices.Contains(o.Channels, channel)
}

// ChannelsOf returns the channels of a package that are drawn, in their order there.
func (o Options) ChannelsOf(p *graph.Package) []*graph.Channel {
	return slices.DeleteFunc(slices.Clone(p.Channels), func(c *graph.Channel) bool { return !o.Draws(c.Name) })
}

// A drawing is the nodes of a channel and the links between them, the same in all formats.
type drawing struct {
	nodes []graph.Node

	at        map[string]int  // the node of a name
	versioned []*graph.Bundle // the last members of the channel, which have a version; it ascends
	fold      bool            // ranges are drawn as a whole
}

// A link is an edge by which an entry of a channel updates a bundle.
type link struct {
	from, to  int        // nodes, from the old bundle to the new one; from is none for a range as a whole
	by        graph.Edge // Replaces, Skips or SkipRange
	skipRange string     // "" for the other edges
	bundles   int        // in the range, if it is drawn as a whole
}

// maxRangeLinks limits the links of the ranges of a channel. With ranges from each bundle to every later one, 100,000
// bundles would need hundreds of gigabytes.
const maxRangeLinks = 100_000

// newDrawing returns the drawing of a channel, which must be one of a Package.
func newDrawing(c *graph.Channel) *drawing {
	d := &drawing{nodes: c.Nodes(), versioned: c.Members()}
	for len(d.versioned) > 0 && d.versioned[0].Version == nil {
		d.versioned = d.versioned[1:]
	}
	d.at = make(map[string]int, len(d.nodes))
	covered := 0
	for i, n := range d.nodes {
		d.at[n.Name] = i
		covered += d.size(n.Range)
	}
	d.fold = covered > maxRangeLinks
	return d
}

// size returns the number of nodes whose version is in the range.
func (d *drawing) size(r graph.Range) int {
	n := 0
	for i, j := range d.in(r) {
		n += j - i
	}
	return n
}

// in yields the nodes with versions in the range, as intervals of versioned.
func (d *drawing) in(r graph.Range) iter.Seq2[int, int] {
	return r.Indexes(len(d.versioned), func(i int) *declcfg.Version { return d.versioned[i].Version })
}

// links yields the links by target: from the bundle that its entry replaces, from those that it skips, in the order of
// the entry, and from those in its skipRange without another link, the lowest version first.
//
// A range without nodes is one link without a source. If the ranges of a channel have more than 100,000 nodes together,
// each of them is.
func (d *drawing) links() iter.Seq[link] {
	return func(yield func(link) bool) {
		linked := make([]int, len(d.nodes)) // by node: 1 + the last node that an edge other than a range leads to
		for to, n := range d.nodes {
			if n.Entry != nil && (!d.named(to, linked, yield) || !d.ranged(to, linked, yield)) {
				return
			}
		}
	}
}

// named yields the links from the bundles that the entry of a node names, each once.
func (d *drawing) named(to int, linked []int, yield func(link) bool) bool {
	e := d.nodes[to].Entry
	if from, ok := d.at[e.Replaces]; ok {
		linked[from] = 1 + to
		if !yield(link{from: from, to: to, by: graph.Replaces}) {
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
		if !yield(link{from: from, to: to, by: graph.Skips}) {
			return false
		}
	}
	return true
}

// ranged yields the links from the bundles in the range of the entry of a node.
func (d *drawing) ranged(to int, linked []int, yield func(link) bool) bool {
	n := &d.nodes[to]
	l := link{from: none, to: to, by: graph.SkipRange, skipRange: n.Entry.SkipRange}
	if l.skipRange == "" || n.BadRange != nil {
		return true
	}
	if size := d.size(n.Range); d.fold || size == 0 {
		l.bundles = size
		return yield(l)
	}
	for i, j := range d.in(n.Range) {
		for ; i < j; i++ {
			l.from = len(d.versioned) - 1 - i // nodes are in the opposite order
			if linked[l.from] != 1+to && !yield(l) {
				return false
			}
		}
	}
	return true
}
