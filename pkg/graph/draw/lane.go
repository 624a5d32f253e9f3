package draw

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A lane is the drawing of a channel, or of the bundles that are in no channel.
type lane struct {
	Label, Title  string
	Note, Tooltip string // the line below the name, and its tooltip
	Wrong         bool   // the note is an error
	Loose         bool   // bundles that are in no channel
	X, Y          int
	Width, Height int
	Badges        []badge
	Edges         []edge
	Boxes         []*box

	channel *graph.Channel // nil if Loose
	nodes   []graph.Node
	links   []link
	rows    *rows
}

// A box is a bundle in a lane.
type box struct {
	Class         string
	X, Y          int
	Width, Height int
	Label         string
	Version       string // "" if the label contains it
	VersionX      int
	Title         string
	Badges        []badge

	node *graph.Node
}

// TextX is the x coordinate of the start of the text.
func (b *box) TextX() int { return b.X + boxPadding }

// TextY is the y coordinate of the base line of the text.
func (b *box) TextY() int { return b.Y + boxHeight - 8 }

// The texts of badges, which are also CSS classes after spaces are replaced by hyphens.
const (
	badgeHead       = "head"
	badgeSkipped    = "skipped"
	badgeDeprecated = "deprecated"
	badgeVirtual    = "not in catalog"
	badgeOutside    = "not in channel"
	badgeStranded   = "stranded"
	badgeRange      = "bad skipRange"
)

// newLane lays out a channel.
func newLane(g *graph.Package, c *graph.Channel, prefix string) *lane {
	d := newDrawing(c)
	name := oneLine(c.Name)
	l := &lane{
		Label: elide(name, laneSize*bold, laneLimit), Title: "channel " + name,
		channel: c, nodes: d.nodes, links: slices.Collect(d.links()),
	}
	l.rows = newRows(c, l.nodes, l.links)
	entries := 0
	for _, n := range l.nodes {
		if n.Entry != nil {
			entries++
		}
	}
	l.Note = plural.Words(entries, "entry", "entries")
	l.Tooltip = l.Note
	if l.rows.order != nil {
		l.Note, l.Tooltip, l.Wrong = "OLM Classic refuses it", oneLine(l.rows.order.Error()), true
	}
	var words []string
	if c.Name == g.DefaultChannel {
		words = append(words, "default")
	}
	if c.Deprecated {
		words = append(words, badgeDeprecated)
	}
	stranded := c.Stranded()
	l.layOut(words, func(n *graph.Node) *box { return l.box(n, prefix, stranded) })
	return l
}

// newLooseLane lays out bundles that are in no channel.
func newLooseLane(nodes []graph.Node, prefix string) *lane {
	l := &lane{Label: "in no channel", Title: "bundles in no channel", Loose: true, nodes: nodes}
	l.Note = plural.Of(len(nodes), "bundle")
	l.Tooltip = l.Note
	l.rows = newRows(graph.New(nil), nodes, nil)
	l.rows.order = nil
	l.layOut(nil, func(n *graph.Node) *box { return l.box(n, prefix, nil) })
	return l
}

// layOut lays out the name, the boxes and the edges. words are the badges next to the name.
func (l *lane) layOut(words []string, newBox func(*graph.Node) *box) {
	hasChain := l.channel != nil && l.rows.order == nil
	boxWidth := minBox
	for _, node := range l.rows.nodes {
		b := newBox(&l.nodes[node])
		if hasChain && l.rows.chain[node] == none {
			b.X = indent
		}
		boxWidth = max(boxWidth, b.X+b.Width)
		l.Boxes = append(l.Boxes, b)
	}
	edges := l.newEdges()
	n := edges.replacedTracks + edges.rangeTracks
	if n == 0 && len(edges.stubs) > 0 {
		n = 1
	}
	left := lanePadding + gutter(n)
	for row, b := range l.Boxes {
		b.Width = boxWidth - b.X
		b.X += left
		b.Y = laneHead + row*rowStep
		b.VersionX = b.TextX() + width(b.Label, labelSize) + 8
		x := b.X + b.Width - boxPadding + 3
		for i := range slices.Backward(b.Badges) {
			word := b.Badges[i]
			x -= word.Width
			b.Badges[i] = badgeOf(word.Text, word.Class, x, b.Y+boxHeight/2)
			x -= 6
		}
	}
	l.Edges = edges.draw(left, left+boxWidth, l.Boxes)
	l.Width = left + boxWidth + gutter(edges.skippedTracks) + lanePadding
	l.Height = laneHead + len(l.Boxes)*rowStep
	l.layOutBadges(words)
}

// layOutBadges places the badges next to the name of the lane, and widens the lane if necessary.
func (l *lane) layOutBadges(words []string) {
	x := lanePadding + width(l.Label, laneSize*bold)
	for _, word := range words {
		b := badgeOf(word, word, x+8, 19)
		l.Badges = append(l.Badges, b)
		x = b.X + b.Width
	}
	l.Width = max(l.Width, x+lanePadding, lanePadding+width(l.Note, smallSize*bold)+lanePadding)
}

// box returns the box of a node, with its minimum width.
func (l *lane) box(n *graph.Node, prefix string, stranded []string) *box {
	name := oneLine(n.Name)
	label := strings.TrimPrefix(name, oneLine(prefix))
	b := &box{Label: elide(label, labelSize, labelLimit), Height: boxHeight, node: n}
	b.Width = 2*boxPadding + width(b.Label, labelSize)
	if v := versionOf(n); v != "" && !strings.Contains(label, v) {
		b.Version = v
		b.Width += 8 + width(v, smallSize)
	}
	words := l.badgeTexts(n, stranded)
	for _, word := range words {
		b.Badges = append(b.Badges, badge{Text: word, Class: strings.ReplaceAll(word, " ", "-"), Width: badgeWidth(word)})
		b.Width += 6 + badgeWidth(word)
	}
	class := "entry"
	switch {
	case n.Virtual:
		class = "virtual"
	case n.Outside() && !l.Loose:
		class = "outside"
	}
	for _, c := range []struct {
		holds bool
		class string
	}{{n.Head, badgeHead}, {n.Skipped, badgeSkipped}, {n.Deprecated, badgeDeprecated}} {
		if c.holds {
			class += " " + c.class
		}
	}
	b.Class = class
	b.Title = l.describe(n, name, words)
	return b
}

// badgeTexts returns the texts of the badges of a bundle. stranded are the sorted names of stranded entries.
func (l *lane) badgeTexts(n *graph.Node, stranded []string) []string {
	_, isStranded := slices.BinarySearch(stranded, n.Name)
	var words []string
	for _, w := range []struct {
		holds bool
		word  string
	}{
		{n.Head, badgeHead},
		{n.Skipped, badgeSkipped},
		{n.Deprecated, badgeDeprecated},
		{n.Virtual, badgeVirtual},
		{n.Outside() && !l.Loose, badgeOutside},
		{n.Entry != nil && isStranded, badgeStranded},
		{n.BadRange != nil, badgeRange},
	} {
		if w.holds {
			words = append(words, w.word)
		}
	}
	return words
}

// describe returns the tooltip of a bundle in this lane.
func (l *lane) describe(n *graph.Node, name string, words []string) string {
	lines := []string{name}
	if v := versionOf(n); v != "" {
		lines = append(lines, "version "+v)
	}
	if len(words) > 0 {
		lines = append(lines, strings.Join(words, ", "))
	}
	if n.Entry == nil {
		return strings.Join(lines, "\n")
	}
	e := n.Entry
	if e.Replaces != "" {
		lines = append(lines, "replaces "+oneLine(e.Replaces))
	}
	if len(e.Skips) > 0 {
		lines = append(lines, "skips "+oneLine(list(e.Skips)))
	}
	if e.SkipRange != "" {
		lines = append(lines, "skipRange "+oneLine(e.SkipRange))
		if n.BadRange != nil {
			lines = append(lines, "which cannot be read: "+oneLine(n.BadRange.Error()))
		}
	}
	return strings.Join(lines, "\n")
}

// rows is the order of the nodes of a channel in its lane.
type rows struct {
	nodes []int // node by row, from the top
	of    []int // row by node
	chain []int // by node: its index in the order of OLM Classic, or none
	order error // error if OLM Classic has no such order
}

const none = -1

// newRows sorts the nodes of a channel into rows. Bundles in the order of OLM Classic keep that order. Other bundles
// are placed between them by version, but below the bundles that update them. A bundle without a version is directly
// below the bundles that update it.
func newRows(c *graph.Channel, nodes []graph.Node, links []link) *rows {
	r := &rows{of: make([]int, len(nodes)), chain: slices.Repeat([]int{none}, len(nodes))}
	chain := r.classicOrder(c, nodes)
	above := newChainVersions(chain, nodes)
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
			place[node] = r.chainPosition(node, nodes, above, place, updaters[node])
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

// classicOrder returns the nodes in the order of OLM Classic, and sets r.chain and r.order.
func (r *rows) classicOrder(c *graph.Channel, nodes []graph.Node) []int {
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

// chainPosition returns the number of bundles of the chain above a node that is not in the chain.
func (r *rows) chainPosition(node int, nodes []graph.Node, above chainVersions, place []int, updaters []int) int {
	least, most := math.MaxInt, none // of the bundles of the chain down to an updater, for all updaters
	for _, u := range updaters {
		if place[u] == none { // not placed yet
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
		return above.countAbove(*v)
	case v != nil:
		return max(above.countAbove(*v), least)
	case most == none:
		return len(above.lowest)
	}
	return most
}

// chainVersions counts the bundles of a chain above a version.
type chainVersions struct {
	lowest []*declcfg.Version // by index in the chain: the lowest version up to there
}

func newChainVersions(chain []int, nodes []graph.Node) chainVersions {
	a := chainVersions{make([]*declcfg.Version, len(chain))}
	var lowest *declcfg.Version
	for i, node := range chain {
		if v := nodes[node].Version; v != nil && (lowest == nil || v.Compare(*lowest) < 0) {
			lowest = v
		}
		a.lowest[i] = lowest
	}
	return a
}

// countAbove returns the number of bundles in the chain before the first bundle with a lower version.
func (a chainVersions) countAbove(v declcfg.Version) int {
	return sort.Search(len(a.lowest), func(i int) bool { return a.lowest[i] != nil && a.lowest[i].Compare(v) < 0 })
}
