package store

import (
	"cmp"
	"sort"
)

// An index is the tables of a store, in the order of the file, and the strings that its rows refer to. doc.go describes
// the order of the rows.
type index struct {
	Strings   []stringRow
	Records   []recordRow
	Packages  []packageRow
	Channels  []channelRow
	Entries   []entryRow
	Bundles   []bundleRow
	Skips     []skipRow
	Lists     []listRow
	Kinds     []kindRow
	Providers []providerRow
	Edges     []edgeRow
	Custom    []customRow
	Catalogs  []catalogRow
	Frames    []frameRow
	Lines     []lineRow
	BySchema  []lineRef
	ByPackage []lineRef
	ByName    []lineRef

	text []byte
}

// Rows refer to rows of other tables: T is the row type of the table.
type (
	id[T any]       uint32                        // one row
	optional[T any] uint32                        // one row plus one, or 0 for none
	run[T any]      struct{ First, Count uint32 } // some rows
	stringID        = id[stringRow]
)

func some[T any](i id[T]) optional[T] { return optional[T](i) + 1 }

func (o optional[T]) get() (i id[T], ok bool) { return id[T](o - 1), o > 0 }

func (r run[T]) of(table []T) []T { return table[r.First:][:r.Count:r.Count] }

func (r run[T]) has(i id[T]) bool { return uint32(i)-r.First < r.Count }

// rowsFrom returns the run from a row to the end of a table.
func rowsFrom[T any](table []T, first int) run[T] {
	return run[T]{uint32(first), uint32(len(table) - first)}
}

func addAll[T any](table *[]T, rows []T) run[T] {
	first := len(*table)
	*table = append(*table, rows...)
	return rowsFrom(*table, first)
}

func add[T any](table *[]T, row T) id[T] {
	*table = append(*table, row)
	return id[T](len(*table) - 1)
}

type (
	stringRow struct {
		End uint32 // in the text of all strings; a string starts where the previous one ends
	}
	recordRow struct {
		Offset  uint64 // in the file
		Size    uint32 // in the file
		Content uint32 // size of the uncompressed record; 0 if it is not compressed
		Sum     uint64 // xxhash of the bytes in the file
	}
	packageRow struct {
		Name, DefaultChannel stringID
		Deprecation          optional[stringRow]
		Channels             run[channelRow]
		Description, Icon    optional[recordRow]
	}
	channelRow struct {
		Name        stringID
		Package     id[packageRow]
		Head        id[entryRow]
		Deprecation optional[stringRow]
		Entries     run[entryRow]
	}
	entryRow struct {
		Channel             id[channelRow]
		Bundle              id[bundleRow]
		Replaces, SkipRange stringID
		Skips               run[skipRow]
		Rank                uint32
	}
	bundleRow struct {
		Name        stringID
		Package     id[packageRow]
		Body        id[recordRow]
		Deprecation optional[stringRow]
		Whole       uint32 // 1 if lists include its manifests, since it has no image to read them from
	}
	skipRow struct{ Name stringID }
	listRow struct {
		Record  id[recordRow]
		Entries run[entryRow]
	}
	kindRow struct {
		Group, Version, Kind stringID
		Providers            run[providerRow]
	}
	providerRow struct{ Entry id[entryRow] }
	edgeRow     struct {
		To   stringID
		From id[entryRow]
	}
	customRow struct {
		Schema, Package stringID
		Record          id[recordRow]
	}
	catalogRow struct {
		Lines      run[lineRow]
		Zstd, Gzip run[frameRow] // all lines
	}
	frameRow struct{ Record id[recordRow] }
	lineRow  struct {
		Record                id[recordRow]
		Offset, Size          uint32
		Schema, Package, Name stringID
	}
	lineRef struct{ Line id[lineRow] }
)

func (r recordRow) contentSize() int {
	if r.Content > 0 {
		return int(r.Content)
	}
	return int(r.Size)
}

func (x *index) bytes(s stringID) []byte {
	from := uint32(0)
	if s > 0 {
		from = x.Strings[s-1].End
	}
	return x.text[from:x.Strings[s].End]
}

func (x *index) string(s stringID) string { return string(x.bytes(s)) }

func (x *index) find(s string) (stringID, bool) {
	i, ok := sort.Find(len(x.Strings), func(i int) int { return cmp.Compare(s, string(x.bytes(stringID(i)))) })
	return stringID(i), ok
}

// equalRun returns the run [first, end) of n sorted values for which compare returns 0. Compare returns less than 0 for
// the values before the run, and more than 0 for the values after it. Whatever compare returns, first <= end <= n.
func equalRun(n int, compare func(int) int) (first, end int) {
	first = sort.Search(n, func(i int) bool { return compare(i) >= 0 })
	return first, first + sort.Search(n-first, func(i int) bool { return compare(first+i) > 0 })
}

// search returns the rows of a sorted table for which compare returns 0.
func search[T any](table []T, compare func(T) int) []T {
	first, end := equalRun(len(table), func(i int) int { return compare(table[i]) })
	return table[first:end]
}
