package draw

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
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
	l.place(words, func(n *graph.Node) *box { return l.box(n, prefix, stranded) })
	return l
}

// newLooseLane lays out bundles that are in no channel.
func newLooseLane(nodes []graph.Node, prefix string) *lane {
	l := &lane{Label: "in no channel", Title: "bundles in no channel", Loose: true, nodes: nodes}
	l.Note = plural.Of(len(nodes), "bundle")
	l.Tooltip = l.Note
	l.rows = newRows(graph.New(nil), nodes, nil)
	l.rows.order = nil
	l.place(nil, func(n *graph.Node) *box { return l.box(n, prefix, nil) })
	return l
}

// place lays out the name, the boxes and the edges. words are the badges beside the name.
func (l *lane) place(words []string, newBox func(*graph.Node) *box) {
	boxWidth := minBox
	for _, node := range l.rows.nodes {
		b := newBox(&l.nodes[node])
		b.X = l.indentOf(node)
		boxWidth = max(boxWidth, b.X+b.Width)
		l.Boxes = append(l.Boxes, b)
	}
	edges := l.newEdges()
	left := lanePadding + edges.leftWidth()
	for row, b := range l.Boxes {
		b.Width = boxWidth - b.X
		b.X += left
		b.Y = laneHead + row*rowStep
		b.arrange()
	}
	l.Edges = edges.draw(left, left+boxWidth, l.Boxes)
	l.Width = left + boxWidth + edges.rightWidth() + lanePadding
	l.Height = laneHead + len(l.Boxes)*rowStep
	l.head(words)
}

// indentOf returns the indent of a box, which is zero for bundles in the order of OLM Classic.
func (l *lane) indentOf(node int) int {
	if l.rows.chain[node] == none && l.hasChain() {
		return indent
	}
	return 0
}

func (l *lane) hasChain() bool { return l.channel != nil && l.rows.order == nil }

// head places the badges beside the name of the lane, and widens the lane if necessary.
func (l *lane) head(words []string) {
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
	words := l.words(n, stranded)
	for _, word := range words {
		b.Badges = append(b.Badges, badge{Text: word, Class: strings.ReplaceAll(word, " ", "-"), Width: badgeWidth(word)})
		b.Width += 6 + badgeWidth(word)
	}
	b.Class = classes(n, l.Loose)
	b.Title = l.describe(n, name, words)
	return b
}

// words returns the badge texts of a bundle.
func (l *lane) words(n *graph.Node, stranded []string) []string {
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
		{n.Entry != nil && isIn(stranded, n.Name), badgeStranded},
		{n.BadRange != nil, badgeRange},
	} {
		if w.holds {
			words = append(words, w.word)
		}
	}
	return words
}

// isIn reports whether the sorted names contain a name.
func isIn(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}

// classes returns the CSS classes of a box.
func classes(n *graph.Node, loose bool) string {
	class := "entry"
	switch {
	case n.Virtual:
		class = "virtual"
	case n.Outside() && !loose:
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
	return class
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

// arrange lays out the content of a box: the version after the label, the badges on the right.
func (b *box) arrange() {
	b.VersionX = b.TextX() + width(b.Label, labelSize) + 8
	x := b.X + b.Width - boxPadding + 3
	for i := range slices.Backward(b.Badges) {
		word := b.Badges[i]
		x -= word.Width
		b.Badges[i] = badgeOf(word.Text, word.Class, x, b.Y+boxHeight/2)
		x -= 6
	}
}
