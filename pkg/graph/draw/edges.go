package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An edge is a drawn link, or several links that share a trunk: lines, arrow heads and dots.
type edge struct {
	Class       string
	Line, Heads string // path data
	Title       string
}

// edges are the links of a lane, grouped by their form.
type edges struct {
	lane     *lane
	direct   [][2]int // rows of the upper and the lower box of a replaces link without boxes between them
	replaced []*trunk // left of the boxes, on the nearest tracks
	skipped  []*trunk // right of the boxes
	ranges   []*trunk // left of the boxes, beyond the trunks of replaced
	stubs    []link

	replacedTracks, skippedTracks, rangeTracks int
}

// newEdges groups the links of a lane into direct lines, trunks and stubs, and assigns tracks to the trunks.
func (l *lane) newEdges() *edges {
	e := &edges{lane: l}
	n := len(l.nodes)
	replaced, skipped, ranges := make([][]int, n), make([][]int, n), make([][]int, n)
	isStub := map[int]bool{} // by node
	for _, link := range l.links {
		to := l.rows.of[link.to]
		switch {
		case link.from == none:
			e.stubs = append(e.stubs, link)
			isStub[link.to] = true
		case link.by == graph.SkipRange:
			ranges[to] = append(ranges[to], l.rows.of[link.from])
		case link.by == graph.Skips:
			skipped[to] = append(skipped[to], l.rows.of[link.from])
		case l.isDirect(to, l.rows.of[link.from]):
			e.direct = append(e.direct, [2]int{to, l.rows.of[link.from]})
		default:
			replaced[to] = append(replaced[to], l.rows.of[link.from])
		}
	}
	// Add to the ranges the bundles that the same entry also replaces or skips, which have no range link. This
	// makes the ranges of neighbours equal, so that they can share a trunk.
	seen := map[[2]int]bool{} // an entry may replace and skip the same bundle
	for _, link := range l.links {
		if link.by == graph.SkipRange {
			continue
		}
		to, from := l.rows.of[link.to], l.rows.of[link.from]
		r, v := l.nodes[link.to].Range, l.nodes[link.from].Version
		if v != nil && !isStub[link.to] && !seen[[2]int{to, from}] && r.Contains(v.Semver) {
			seen[[2]int{to, from}] = true
			ranges[to] = append(ranges[to], from)
		}
	}
	for row := range n {
		slices.Sort(skipped[row])
		slices.Sort(ranges[row])
	}
	e.replaced = mergeReplaces(replaced)
	e.skipped, e.ranges = shareTrunks(graph.Skips, skipped), shareTrunks(graph.SkipRange, ranges)
	e.replacedTracks, e.skippedTracks = assignTracks(e.replaced), assignTracks(e.skipped)
	e.rangeTracks = assignTracks(e.ranges)
	return e
}

// isDirect reports whether a line between two rows crosses no box: they are neighbours, or all rows between them are
// indented.
func (l *lane) isDirect(upper, lower int) bool {
	i, j := l.rows.chain[l.rows.nodes[upper]], l.rows.chain[l.rows.nodes[lower]]
	return lower == upper+1 || i != none && j == i+1
}

// gutter returns the width of a number of tracks, in px.
func gutter(tracks int) int {
	if tracks == 0 {
		return 0
	}
	return offset(tracks-1) + trackStep
}

// offset returns the distance between a track and the boxes, in px.
func offset(track int) int { return trackFirst + track*trackStep }

// draw returns the drawn edges. left and right are the x coordinates of the sides of the boxes.
func (e *edges) draw(left, right int, boxes []*box) []edge {
	var all []edge
	for _, t := range e.ranges {
		all = append(all, e.drawTrunk(t, boxes, side{x: left - offset(e.replacedTracks+t.track), port: rangePort}))
	}
	for _, t := range e.skipped {
		all = append(all, e.drawTrunk(t, boxes, side{x: right + offset(t.track), port: skipsPort, right: true}))
	}
	for _, t := range e.replaced {
		all = append(all, e.drawTrunk(t, boxes, side{x: left - offset(t.track), port: replacesPort}))
	}
	for _, d := range e.direct {
		all = append(all, e.drawDirect(boxes[d[0]], boxes[d[1]]))
	}
	for _, link := range e.stubs {
		all = append(all, e.drawStub(link, boxes[e.lane.rows.of[link.to]]))
	}
	return all
}

// drawDirect draws a line up from a box to the box that replaces it.
func (e *edges) drawDirect(upper, lower *box) edge {
	var p pen
	x := max(upper.X, lower.X) + 14
	p.line("M%d %dV%d", x, lower.Y, upper.Y+boxHeight+5)
	p.head("M%d %dl4 7h-8z", x, upper.Y+boxHeight)
	return p.edge(graph.Replaces, upper.name()+" replaces "+lower.name())
}

// drawStub draws a range as one link without a source.
func (e *edges) drawStub(link link, b *box) edge {
	var p pen
	y := b.Y + boxHeight/2 + rangePort
	p.line("M%d %dH%d", b.X-trackFirst, y, b.X-7)
	p.arrow(b.X, y, false)
	return p.edge(graph.SkipRange, fmt.Sprintf("%s has %s in its skipRange %s",
		b.name(), plural.Of(link.bundles, "bundle"), oneLine(link.skipRange)))
}

// The vertical distance, in px, between the middle of a box and the line of a trunk that joins it. The distances keep
// arrow heads apart.
const (
	replacesPort = 4
	skipsPort    = 6
	rangePort    = 9
)

// A side is the position of a trunk: its x coordinate, and the vertical distance at which it joins boxes.
type side struct {
	x, port int
	right   bool
}

// edge returns the x coordinate of the side of a box that faces the trunk.
func (s side) edge(b *box) int {
	if s.right {
		return b.X + b.Width
	}
	return b.X
}

// height returns the y coordinate at which a trunk joins a box, in the lower or the upper half of the box.
func (s side) height(b *box, lower bool) int {
	if lower {
		return b.Y + boxHeight/2 + s.port
	}
	return b.Y + boxHeight/2 - s.port
}

// drawTrunk draws a trunk with the lines to its boxes.
func (e *edges) drawTrunk(t *trunk, boxes []*box, s side) edge {
	var p pen
	y := func(half int) int { return s.height(boxes[half/2], half%2 == 1) }
	top, bottom := t.span()
	ends := []int{y(top), y(bottom)}
	p.line("M%d %dV%d", s.x, ends[0], ends[1])
	for _, row := range t.from {
		p.join(s, s.edge(boxes[row]), y(t.half(row, false)), ends)
	}
	for _, row := range t.to {
		end, at := s.edge(boxes[row]), y(t.half(row, true))
		p.join(s, p.arrow(end, at, s.right), at, ends)
	}
	return p.edge(t.by, t.describe(boxes))
}

// describe returns the meaning of a trunk as text.
func (t *trunk) describe(boxes []*box) string {
	from := list(namesOf(boxes, t.from))
	if len(t.to) == 1 {
		to := boxes[t.to[0]]
		if t.by == graph.SkipRange {
			return fmt.Sprintf("%s has in its skipRange %s: %s", to.name(), oneLine(to.node.Entry.SkipRange), from)
		}
		return fmt.Sprintf("%s %s %s", to.name(), t.by, from)
	}
	verb := map[graph.Edge]string{
		graph.Replaces: "replaces", graph.Skips: "skips", graph.SkipRange: "has in its skipRange",
	}[t.by]
	if len(t.from) == 1 {
		return fmt.Sprintf("each of %s %s %s", list(namesOf(boxes, t.to)), verb, from)
	}
	return fmt.Sprintf("each of %s %s those below it of %s", list(namesOf(boxes, t.to)), verb, from)
}

func namesOf(boxes []*box, rows []int) []string {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = boxes[row].name()
	}
	return names
}

func (b *box) name() string { return oneLine(b.node.Name) }

// A pen writes path data.
type pen struct{ lines, heads strings.Builder }

func (p *pen) line(format string, args ...any) { fmt.Fprintf(&p.lines, format, args...) }
func (p *pen) head(format string, args ...any) { fmt.Fprintf(&p.heads, format, args...) }

// arrow draws an arrow head that touches a box at x, and returns the x coordinate at which its line ends.
func (p *pen) arrow(x, y int, fromRight bool) int {
	back := -7
	if fromRight {
		back = 7
	}
	p.head("M%d %dl%d -4v8z", x, y, back)
	return x + back
}

// join draws a line from a trunk to x, with a dot on the trunk unless the line is at one of its ends.
func (p *pen) join(s side, x, y int, ends []int) {
	p.line("M%d %dH%d", s.x, y, x)
	if !slices.Contains(ends, y) {
		p.head("M%d %da2 2 0 1 0 4 0a2 2 0 1 0 -4 0z", s.x-2, y)
	}
}

func (p *pen) edge(by graph.Edge, title string) edge {
	return edge{Class: classOf(by), Line: p.lines.String(), Heads: p.heads.String(), Title: title}
}

// A trunk is a vertical line beside the boxes of a lane that connects several of them; the word is from channel
// routing, as is track. Each row in to updates all rows in from that are below it. If to has only one row, that row
// also updates the rows in from above it.
type trunk struct {
	by       graph.Edge
	to, from []int // rows, from the top
	track    int   // 0 is nearest to the boxes
}

// span returns the ends of a trunk in half rows, since it joins a box in its upper or lower half. Trunks that share no
// half row may share a track.
func (t *trunk) span() (top, bottom int) {
	top = t.half(t.to[0], true)
	bottom = top
	for _, row := range t.to {
		top, bottom = min(top, t.half(row, true)), max(bottom, t.half(row, true))
	}
	for _, row := range t.from {
		top, bottom = min(top, t.half(row, false)), max(bottom, t.half(row, false))
	}
	return top, bottom
}

// half returns the half row in which a row joins the trunk; the upper half of row 0 is 0. The trunk runs below a row
// that updates others and above a row that is updated, unless the trunk leads upwards: from rows above the updated row,
// against the order of the lane.
func (t *trunk) half(row int, updates bool) int {
	upwards := len(t.from) > 0 && t.from[0] < t.to[0]
	if updates != upwards {
		return 2*row + 1
	}
	return 2 * row
}

// shareTrunks groups updates into trunks. updates[row] are the rows that the row updates by an edge of this kind, from
// the top. Updates from rows above the row, and from the row itself, have trunks of their own.
func shareTrunks(by graph.Edge, updates [][]int) []*trunk {
	var all []*trunk
	open := map[int][]*trunk{} // by the last row in from
	for row, from := range updates {
		self, found := slices.BinarySearch(from, row)
		below := self
		if found {
			below++
			all = append(all, &trunk{by: by, to: []int{row}, from: []int{row}})
		}
		if self > 0 {
			all = append(all, &trunk{by: by, to: []int{row}, from: from[:self]})
		}
		if from = from[below:]; len(from) == 0 {
			continue
		}
		last := from[len(from)-1]
		if t := joinable(open[last], row, from); t != nil {
			t.to = append(t.to, row)
			continue
		}
		t := &trunk{by: by, to: []int{row}, from: from}
		open[last] = append(open[last], t)
		all = append(all, t)
	}
	return all
}

// joinable returns the trunk that a row can join, nil if there is none: its rows in from below the row must be exactly
// the rows that the row updates.
func joinable(open []*trunk, row int, from []int) *trunk {
	for _, t := range open {
		i, found := slices.BinarySearch(t.from, row)
		if found {
			i++
		}
		if slices.Equal(t.from[i:], from) {
			return t
		}
	}
	return nil
}

// mergeReplaces groups replaces edges into trunks, one for all rows that replace the same row. updates[row] is the row
// that the row replaces.
func mergeReplaces(updates [][]int) []*trunk {
	below := map[int]*trunk{} // by replaced row
	var all []*trunk
	for row, from := range updates {
		for _, target := range from {
			t := below[target]
			switch {
			case target <= row:
				all = append(all, &trunk{by: graph.Replaces, to: []int{row}, from: []int{target}})
			case t != nil:
				t.to = append(t.to, row)
			default:
				below[target] = &trunk{by: graph.Replaces, to: []int{row}, from: []int{target}}
				all = append(all, below[target])
			}
		}
	}
	return all
}

// assignTracks assigns each trunk to a track without overlaps, short trunks nearest to the boxes, and returns the
// number of tracks.
func assignTracks(trunks []*trunk) int {
	type span struct{ top, bottom, trunk int }
	spans := make([]span, len(trunks))
	for i, t := range trunks {
		top, bottom := t.span()
		spans[i] = span{top, bottom, i}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.bottom-a.top, b.bottom-b.top), cmp.Compare(a.top, b.top))
	})
	var tracks [][]span // each sorted from the top
	for _, s := range spans {
		track := 0
		at := 0
		for ; track < len(tracks); track++ {
			taken := tracks[track]
			at, _ = slices.BinarySearchFunc(taken, s, func(a, b span) int { return cmp.Compare(a.top, b.top) })
			free := (at == 0 || taken[at-1].bottom < s.top) && (at == len(taken) || taken[at].top > s.bottom)
			if free {
				break
			}
		}
		if track == len(tracks) {
			tracks, at = append(tracks, nil), 0
		}
		tracks[track] = slices.Insert(tracks[track], at, s)
		trunks[s.trunk].track = track
	}
	return len(tracks)
}
