package store

import (
	"cmp"
	"slices"
)

// names numbers the strings of an index, at first as they come and in the end by their order.
type names struct {
	ids  map[string]uint32
	list []string
}

func (n *names) id(s string) uint32 {
	if n.ids == nil {
		n.ids = map[string]uint32{}
		n.id("") // is always there
	}
	id, ok := n.ids[s]
	if !ok {
		id = uint32(len(n.list))
		n.ids[s] = id
		n.list = append(n.list, s)
	}
	return id
}

// finish enters the strings into the index, and gives those that its tables name their final numbers.
func (n *names) finish(x *indexData) {
	n.id("")
	sorted := make([]uint32, len(n.list))
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	slices.SortFunc(sorted, func(a, b uint32) int { return cmp.Compare(n.list[a], n.list[b]) })
	final := make([]uint32, len(sorted))
	for i, id := range sorted {
		final[id] = uint32(i)
		x.text = append(x.text, n.list[id]...)
		x.add(tStrings, uint32(len(x.text)))
	}
	for t := range tableCount {
		for i, c := range layout[t] {
			renumber(x.tables[t], i, len(layout[t]), c, final)
		}
	}
}

func renumber(table []uint32, col, width int, c column, final []uint32) {
	for i := col; i < len(table); i += width {
		switch {
		case c.kind == colText:
			table[i] = final[table[i]]
		case c.kind == colOptional && c.to == tStrings && table[i] > 0:
			table[i] = final[table[i]-1] + 1
		}
	}
}
