package store

import (
	"cmp"
	"slices"
	"sort"
)

// What follows are the rows of tables with their columns by name; see layout.

type packageRow struct {
	name, defaultChannel, deprecation uint32
	firstChannel, channelCount        uint32
	description, icon                 uint32
}

func (x *indexData) pkg(i uint32) packageRow {
	r := x.row(tPackages, i)
	return packageRow{
		name: r[0], defaultChannel: r[1], deprecation: r[2], firstChannel: r[3], channelCount: r[4],
		description: r[7], icon: r[8],
	}
}

type channelRow struct {
	name, pkg, head, deprecation uint32
	firstEntry, entryCount       uint32
}

func (x *indexData) channel(i uint32) channelRow {
	r := x.row(tChannels, i)
	return channelRow{name: r[0], pkg: r[1], head: r[2], deprecation: r[3], firstEntry: r[4], entryCount: r[5]}
}

type entryRow struct {
	channel, bundle, replaces, skipRange uint32
	firstSkip, skipCount                 uint32
	rank                                 uint32
}

func (x *indexData) entry(i uint32) entryRow {
	r := x.row(tEntries, i)
	return entryRow{
		channel: r[0], bundle: r[1], replaces: r[2], skipRange: r[3], firstSkip: r[4], skipCount: r[5], rank: r[6],
	}
}

type bundleRow struct {
	name, pkg, body, deprecation uint32
	whole                        bool
}

func (x *indexData) bundle(i uint32) bundleRow {
	r := x.row(tBundles, i)
	return bundleRow{name: r[0], pkg: r[1], body: r[2], deprecation: r[3], whole: r[4] != 0}
}

// find returns the number of a string.
func (x *indexData) find(s string) (uint32, bool) {
	i, ok := sort.Find(x.rows(tStrings), func(i int) int { return cmp.Compare(s, string(x.bytes(uint32(i)))) })
	return uint32(i), ok
}

// search returns the rows of a table, as [first, end), whose first columns are equal to key. The table must be sorted
// by these.
func (x *indexData) search(t tableID, key ...uint32) (first, end uint32) {
	i, j := equalRun(x.rows(t), func(i int) int { return slices.Compare(x.row(t, uint32(i))[:len(key)], key) })
	return uint32(i), uint32(j)
}

// equalRun returns the run [first, end) of n things for which compare returns 0. They are sorted: it returns less than
// that for those before, and more for those behind. Whatever compare returns, first <= end <= n.
func equalRun(n int, compare func(int) int) (first, end int) {
	first = sort.Search(n, func(i int) bool { return compare(i) >= 0 })
	return first, first + sort.Search(n-first, func(i int) bool { return compare(first+i) > 0 })
}
