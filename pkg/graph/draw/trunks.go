package draw

import (
	"cmp"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// A trunk is a line beside the boxes of a lane that others join. Each row in to updates all rows in from that are below
// it; a trunk with one row in to also has those above it.
type trunk struct {
	by       graph.Edge
	to, from []int // rows, from the top
	track    int   // counted from the boxes
}

// span returns the ends of a trunk in half rows: it leaves a box below its middle or above. Trunks that share no half
// may share a track.
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

// half returns the half of a row in which it joins the trunk, the upper one of row 0 being 0. What updates others has
// the trunk below it, what is updated above it, unless the trunk leads the other way.
func (t *trunk) half(row int, updates bool) int {
	if updates != t.isUpwards() {
		return 2*row + 1
	}
	return 2 * row
}

// isUpwards reports whether a trunk leads from above, against the order of the lane.
func (t *trunk) isUpwards() bool { return len(t.from) > 0 && t.from[0] < t.to[0] }

// share makes trunks of what each row updates. updates holds the rows that a row updates by an edge of this kind, from
// the top. The rows above it, and the row itself, have trunks of their own.
func share(by graph.Edge, updates [][]int) []*trunk {
	var all []*trunk
	open := map[int][]*trunk{} // by their last row in from
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

// joinable returns the trunk whose sources below a row are exactly those that the row updates.
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

// merge makes trunks of what is replaced: one for all that replace the same, which is what a row of updates holds.
func merge(updates [][]int) []*trunk {
	below := map[int]*trunk{} // by what is replaced
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

// assignTracks gives each trunk a track where none is in its way, short ones nearest to the boxes, and returns how many
// tracks there are.
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
	var tracks [][]span // sorted from the top
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
