// Package draw draws the update graphs of packages: as Mermaid, Graphviz, SVG, HTML, and JSON. All formats show the
// same bundles and links.
//
//	err := draw.SVG(os.Stdout, []*graph.Package{graph.NewPackage(index)}, draw.Options{})
//
// In SVG and HTML, a package is a row of lanes, one for each channel. A lane has a box for each bundle that the channel
// names, the head at the top: in the order of OLM Classic or, if there is none, by version. Lines lead upwards, from
// the installed bundle to its update.
//
//   - A replaced bundle has a solid line, between the boxes if the way is free, otherwise left of them.
//   - A skipped bundle has a dashed line right of the boxes.
//   - A bundle in a skipRange has a dotted line left of the boxes.
//
// Since skips and ranges overlap, their lines share a trunk if that does not change the meaning: each entry with an
// arrow head on a trunk updates all bundles below it that join the trunk. For example, if every entry of a channel has
// a range down to the first version, their lines are one trunk.
package draw

import (
	"io"
	"iter"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Options select the channels to draw. The zero value draws everything.
type Options struct {
	Channels []string // names of the channels to draw in all packages; nil draws all

	// TooLarge is called by [Mermaid] if a drawing is too large for renderers, with its packages and its size. Several
	// packages are then drawn one by one; a single package is drawn nonetheless. It may be nil.
	TooLarge func(packages []*graph.Package, size MermaidSize)
}

// A Func draws packages, in their order; [Mermaid] is one. The error is the error of w.
type Func func(w io.Writer, packages []*graph.Package, o Options) error

// A Format is a drawing format with its name.
type Format struct {
	Name string
	Draw Func
}

// Formats returns all formats, the default first.
func Formats() []Format {
	return []Format{{"mermaid", Mermaid}, {"dot", DOT}, {"svg", SVG}, {"html", HTML}, {"json", JSON}}
}

// Select returns the packages with at least one channel to draw. The error wraps [declcfg.ErrNotFound] if the options
// name a channel that none of the packages has.
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
		if len(o.channelsOf(p)) > 0 {
			selected = append(selected, p)
		}
	}
	for _, name := range o.Channels {
		if !slices.Contains(known, name) {
			return nil, nearest.NotFound("no channel", name, known)
		}
	}
	return selected, nil
}

// draws reports whether channels with the given name are drawn.
func (o Options) draws(channel string) bool {
	return o.Channels == nil || slices.Contains(o.Channels, channel)
}

// channelsOf returns the channels of a package that are drawn, in the order of the package.
func (o Options) channelsOf(p *graph.Package) []*graph.Channel {
	return slices.DeleteFunc(slices.Clone(p.Channels), func(c *graph.Channel) bool { return !o.draws(c.Name) })
}

// A drawing has the nodes of a channel and the links between them, which are the same in all formats.
type drawing struct {
	nodes []graph.Node

	index       map[string]int  // node by name
	versioned   []*graph.Bundle // the members of the channel that have a version, ascending
	wholeRanges bool            // draw each range as one link, since the ranges have too many nodes
}

// A link is an edge by which an entry of a channel updates a bundle.
type link struct {
	from, to  int        // nodes: the old bundle and the new one; from is none for a whole range
	by        graph.Edge // Replaces, Skips or SkipRange
	skipRange string     // "" for other edges
	bundles   int        // number of bundles in a whole range
}

// maxRangeLinks limits the number of range links of a channel. With ranges from each bundle to every later one, 100,000
// bundles would need hundreds of gigabytes.
const maxRangeLinks = 100_000

// newDrawing returns the drawing of a channel, which must be one of a Package.
func newDrawing(c *graph.Channel) *drawing {
	d := &drawing{nodes: c.Nodes(), versioned: c.Members()}
	for len(d.versioned) > 0 && d.versioned[0].Version == nil {
		d.versioned = d.versioned[1:]
	}
	d.index = make(map[string]int, len(d.nodes))
	covered := 0
	for i, n := range d.nodes {
		d.index[n.Name] = i
		covered += d.size(n.Range)
	}
	d.wholeRanges = covered > maxRangeLinks
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

// links yields the links by target. The sources of a target are first the replaced bundle, then the skipped bundles, in
// the order of the entry, then the bundles in the skipRange without another link, the lowest version first.
//
// A range without nodes is one link without a source. If the ranges of a channel have more than 100,000 nodes in total,
// each range is drawn this way.
func (d *drawing) links() iter.Seq[link] {
	return func(yield func(link) bool) {
		linked := make([]int, len(d.nodes)) // by node: 1 + the last node to which it has a link other than a range
		for to, n := range d.nodes {
			if n.Entry != nil && (!d.namedLinks(to, linked, yield) || !d.rangeLinks(to, linked, yield)) {
				return
			}
		}
	}
}

// namedLinks yields the links from the bundles that the entry of a node replaces or skips, each once.
func (d *drawing) namedLinks(to int, linked []int, yield func(link) bool) bool {
	e := d.nodes[to].Entry
	if from, ok := d.index[e.Replaces]; ok {
		linked[from] = 1 + to
		if !yield(link{from: from, to: to, by: graph.Replaces}) {
			return false
		}
	}
	seen := make(map[int]bool, len(e.Skips))
	for _, skip := range e.Skips {
		from, ok := d.index[skip]
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

// rangeLinks yields the links from the bundles in the skipRange of the entry of a node.
func (d *drawing) rangeLinks(to int, linked []int, yield func(link) bool) bool {
	n := &d.nodes[to]
	l := link{from: none, to: to, by: graph.SkipRange, skipRange: n.Entry.SkipRange}
	if l.skipRange == "" || n.BadRange != nil {
		return true
	}
	if size := d.size(n.Range); d.wholeRanges || size == 0 {
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
