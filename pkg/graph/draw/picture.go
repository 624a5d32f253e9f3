package draw

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// The sizes of the parts of a picture, in px.
const (
	margin      = 24  // around the picture
	laneGap     = 20  // between lanes
	lanePadding = 14  // within a lane
	laneHead    = 58  // height above the first row
	rowStep     = 38  // from a row to the next
	boxHeight   = 26  // height of the box of a bundle
	boxPadding  = 9   // before and after the content of a box
	minBox      = 84  // minimum width of a box
	indent      = 22  // of boxes that are not in the order of OLM Classic
	trackFirst  = 15  // from the boxes to the nearest trunk
	trackStep   = 10  // from a trunk to the next
	badgeHeight = 15  // height of a badge
	labelLimit  = 230 // maximum width of the name of a bundle
	laneLimit   = 260 // maximum width of the name of a channel
	titleLimit  = 700 // maximum width of the name of a package
	legendLimit = 760 // maximum width of a row of the legend
)

// A picture is a laid-out drawing, with lengths in px. Positions in a block or a lane are relative to it.
type picture struct {
	Title         string
	Style         template.CSS
	Width, Height int
	Legend        []sample
	Blocks        []*block
}

// A block is the drawing of a package.
type block struct {
	Name          string
	Label, Note   string
	Title         string
	X, Y          int
	Width, Height int
	Badges        []badge
	Lanes         []*lane

	graph *graph.Package
}

// A badge is a text in a frame, such as "head".
type badge struct {
	Text, Class string
	X, Y, Width int
}

// badgeOf returns a badge whose left end is at x and whose middle is at y.
func badgeOf(text, class string, x, y int) badge {
	return badge{Text: text, Class: class, X: x, Y: y - badgeHeight/2, Width: badgeWidth(text)}
}

func badgeWidth(text string) int { return width(text, smallSize) + 10 }

// Height is the height of every badge.
func (badge) Height() int { return badgeHeight }

// TextX is the x coordinate of the middle of the text.
func (b badge) TextX() int { return b.X + b.Width/2 }

// TextY is the y coordinate of the base line of the text.
func (b badge) TextY() int { return b.Y + badgeHeight - 4 }

// newPicture lays out packages, one below the other.
func newPicture(packages []*graph.Package, o Options, withLegend bool) *picture {
	title := plural.Of(len(packages), "package")
	if len(packages) == 1 {
		title = oneLine(packages[0].Name)
	}
	p := &picture{Title: "Updates of " + title}
	inner := 0
	for _, g := range packages {
		b := newBlock(g, o)
		p.Blocks = append(p.Blocks, b)
		inner = max(inner, b.Width)
	}
	y := margin
	if withLegend {
		var legend size
		p.Legend, legend = newLegend()
		y += legend.height + laneGap
		inner = max(inner, legend.width)
	}
	for _, b := range p.Blocks {
		b.X, b.Y = margin, y
		y += b.Height + margin
	}
	p.Width = inner + 2*margin
	p.Height = y
	return p
}

// newBlock lays out a package: its name, then its lanes side by side. The last lane has the bundles that are in no
// channel.
func newBlock(g *graph.Package, o Options) *block {
	const head, note = 30, 18
	name := oneLine(g.Name)
	b := &block{Name: g.Name, Label: elide(name, headingSize*bold, titleLimit), Title: name, Height: head, graph: g}
	b.Width = width(b.Label, headingSize*bold)
	if g.Deprecated {
		badge := badgeOf("deprecated", "deprecated", b.Width+10, 14)
		b.Badges = append(b.Badges, badge)
		b.Width = badge.X + badge.Width
	}
	prefix := commonPrefix(g.Bundles)
	if prefix != "" {
		b.Note = elide(fmt.Sprintf("names of bundles without their first part, %q", oneLine(prefix)), smallSize, titleLimit)
		b.Width = max(b.Width, width(b.Note, smallSize))
		b.Height += note
	}
	for _, c := range o.channelsOf(g) {
		b.Lanes = append(b.Lanes, newLane(g, c, prefix))
	}
	if loose := looseBundles(g); o.Channels == nil && len(loose) > 0 {
		b.Lanes = append(b.Lanes, newLooseLane(loose, prefix))
	}
	x, height := 0, 0
	for _, l := range b.Lanes {
		l.X, l.Y = x, b.Height
		x += l.Width + laneGap
		height = max(height, l.Height)
	}
	b.Width = max(b.Width, x-laneGap)
	b.Height += height
	return b
}

// looseBundles returns the bundles that no channel names, the highest version first.
func looseBundles(g *graph.Package) []graph.Node {
	named := map[*graph.Bundle]bool{}
	for _, c := range g.Channels {
		for _, b := range c.Members() {
			named[b] = true
		}
	}
	var loose []graph.Node
	for _, b := range slices.Backward(g.Bundles) {
		if !named[b] {
			loose = append(loose, graph.Node{Bundle: b})
		}
	}
	return loose
}

type size struct{ width, height int }

// A sample is an entry of the legend: a line or a box with its meaning.
type sample struct {
	Class string // of the line or the box
	Line  bool
	X, Y  int // of its left end and its middle
	Text  string
}

// sampleWidth is the width of the sample before the text.
const sampleWidth = 30

// sampleHeight is the height of a separately drawn sample.
const sampleHeight = 18

// Coordinates for the template.
func (s sample) LineEnd() int { return s.X + sampleWidth - 7 }
func (s sample) HeadX() int   { return s.X + sampleWidth }
func (s sample) BoxY() int    { return s.Y - 7 }
func (s sample) TextX() int   { return s.X + sampleWidth + 8 }
func (s sample) TextY() int   { return s.Y + 4 }

// newLegend lays out the legend.
func newLegend() ([]sample, size) {
	const gap, step = 22, 24
	samples := []sample{
		{Class: classOf(graph.Replaces), Line: true, Text: "is replaced by"},
		{Class: classOf(graph.Skips), Line: true, Text: "is skipped by"},
		{Class: classOf(graph.SkipRange), Line: true, Text: "is in the skipRange of"},
		{Class: "entry head", Text: "head of the channel"},
		{Class: "entry", Text: "bundle"},
		{Class: "entry skipped", Text: "skipped: no longer installed"},
		{Class: "entry deprecated", Text: "deprecated"},
		{Class: "virtual", Text: "not in the catalog"},
		{Class: "outside", Text: "not in the channel"},
	}
	x, y, widest := 0, step/2, 0
	for i := range samples {
		s := &samples[i]
		w := sampleWidth + 8 + width(s.Text, smallSize)
		if x > 0 && x+w > legendLimit {
			x, y = 0, y+step
		}
		s.X, s.Y = x, y
		widest = max(widest, x+w)
		x += w + gap
	}
	return samples, size{widest, y + step/2}
}

func classOf(by graph.Edge) string { return string(by) }
