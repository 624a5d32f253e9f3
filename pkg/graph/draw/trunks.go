package draw

import (
	"cmp"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// A trunk is a vertical line beside the boxes of a lane that connects several of them. Each row in to updates all rows
// in from that are below it; if to has only one row, it also updates the rows in from above it.
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
// that updates others and above a row that is updated, unless the trunk leads upwards.
func (t *trunk) half(row int, updates bool) int {
	if updates != t.isUpwards() {
		return 2*row + 1
	}
	return 2 * row
}

// isUpwards reports whether a trunk updates a row from rows above it, against the order of the lane.
func (t *trunk) isUpwards() bool { return len(t.from) > 0 && t.from[0] < t.to[0] }

// share groups updates into trunks. updates[row] are the rows that the row updates by an edge of this kind, from the
// top. Updates from rows above it, and from the row itself, have trunks of their own.
func share(by graph.Edge, updates [][]int) []*trunk {
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

// joinable returns the trunk whose rows in from below the given row are exactly the rows that it updates, or nil.
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

// merge groups replaces edges into trunks, one for all rows that replace the same row. updates[row] is the row that the
// row replaces.
func merge(updates [][]int) []*trunk {
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
