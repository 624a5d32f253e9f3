package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
)

// encodeIndex encodes an index in the format of the file.
func encodeIndex(x *index.Index) ([]byte, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(x)
	if err == nil && len(data) > math.MaxInt32 { // a larger one could have numbers above 32 bits
		return nil, fmt.Errorf("an index of %d bytes is too large", len(data))
	}
	return data, err
}

// names numbers the strings of an index in the order of their first use.
type names struct {
	numbers map[string]uint32
	list    []string
}

func (n *names) number(s string) uint32 {
	i, ok := n.numbers[s]
	if !ok {
		i = uint32(len(n.list))
		n.list = append(n.list, s)
		n.numbers[s] = i
	}
	return i
}

// A storedRecord is the place of a record in the file.
type storedRecord struct {
	offset  uint64
	size    uint32
	content uint32 // size of the uncompressed record; 0 if it is not compressed
	sum     uint64 // xxhash of the bytes in the file
}

func (r storedRecord) contentSize() int {
	if r.content > 0 {
		return int(r.content)
	}
	return int(r.size)
}

// decodeIndex is the inverse of encodeIndex. Its results are safe to use: every number refers to an object or record,
// and every record is in the file, whose records end at recordsEnd. The index no longer has the columns of the records.
func decodeIndex(data []byte, recordsEnd uint64) (*index.Index, []storedRecord, error) {
	x := &index.Index{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, x); err != nil {
		return nil, nil, err
	}
	records, err := placeRecords(x, recordsEnd)
	if err != nil {
		return nil, nil, err
	}
	x.RecordSize, x.RecordContent, x.RecordSum = nil, nil, nil
	return x, records, checkIndex(x, len(records))
}

// placeRecords returns the places of the records, which fill the file from the header to recordsEnd.
func placeRecords(x *index.Index, recordsEnd uint64) ([]storedRecord, error) {
	if err := equalLengths("records", len(x.RecordSize), len(x.RecordContent), len(x.RecordSum)); err != nil {
		return nil, err
	}
	records := make([]storedRecord, len(x.RecordSize))
	end := uint64(headerSize)
	for i, size := range x.RecordSize {
		r := storedRecord{end, size, x.RecordContent[i], x.RecordSum[i]}
		if r.content/maxRatio > r.size { // do not allocate that much memory just because the index claims it
			return nil, fmt.Errorf("record %d of %d bytes cannot contain %d", i, r.size, r.content)
		}
		records[i] = r
		end += uint64(size)
	}
	if end != recordsEnd {
		return nil, fmt.Errorf("the records end at byte %d, want %d", end, recordsEnd)
	}
	return records, nil
}

// equalLengths returns an error about columns of different lengths.
func equalLengths(what string, lengths ...int) error {
	for _, n := range lengths {
		if n != lengths[0] {
			return fmt.Errorf("the columns of %s have %d and %d rows", what, lengths[0], n)
		}
	}
	return nil
}

// checkIndex returns an error about columns of different lengths, or a number of an object that does not exist.
func checkIndex(x *index.Index, records int) error {
	err := errors.Join(
		equalLengths("bundles", len(x.BundleName), len(x.BundlePackage), len(x.BundleBody), len(x.BundleDeprecation),
			len(x.BundleWhole)),
		equalLengths("entries", len(x.EntryBundle), len(x.EntryChannel), len(x.EntryReplaces), len(x.EntrySkipRange),
			len(x.EntryRank), len(x.EntrySkipsEnd)),
		equalLengths("edges", len(x.EdgeName), len(x.EdgeEntry)),
		equalLengths("kinds", len(x.KindKind), len(x.KindGroup), len(x.KindVersion), len(x.KindProvidersEnd)),
	)
	check := func(what string, limit int, numbers ...uint32) {
		for _, n := range numbers {
			if uint64(n) >= uint64(limit) && err == nil {
				err = fmt.Errorf("the index refers to %s %d of %d", what, n, limit)
			}
		}
	}
	texts, entries := len(x.Strings), len(x.EntryBundle)
	check("string", texts, x.BundleName...)
	check("package", len(x.Packages), x.BundlePackage...)
	check("record", records, x.BundleBody...)
	check("message", texts+1, x.BundleDeprecation...)
	check("channel", len(x.Channels), x.EntryChannel...)
	check("bundle", len(x.BundleName), x.EntryBundle...)
	check("string", texts, x.EntryReplaces...)
	check("string", texts, x.EntrySkipRange...)
	check("string", texts, x.Skips...)
	check("end of skips", len(x.Skips)+1, x.EntrySkipsEnd...)
	check("string", texts, x.EdgeName...)
	check("entry", entries, x.EdgeEntry...)
	check("string", texts, x.KindGroup...)
	check("string", texts, x.KindVersion...)
	check("string", texts, x.KindKind...)
	check("end of providers", len(x.Providers)+1, x.KindProvidersEnd...)
	check("entry", entries, x.Providers...)
	if !slices.IsSorted(x.EntrySkipsEnd) || !slices.IsSorted(x.KindProvidersEnd) {
		err = cmp.Or(err, errors.New("skips or providers end before they start"))
	}
	for _, p := range x.Packages {
		check("message", texts+1, p.Deprecation)
		check("channel", len(x.Channels), p.Channels...)
		check("text", records+1, p.Description, p.Icon)
	}
	for _, c := range x.Channels {
		check("package", len(x.Packages), c.Package)
		check("message", texts+1, c.Deprecation)
		check("entry", entries, c.Head)
		check("entry", entries, c.Entries...)
	}
	listed := uint64(0)
	for _, l := range x.Lists {
		check("record", records, l.Record)
		listed += uint64(l.Entries)
	}
	if listed != uint64(entries) {
		err = cmp.Or(err, fmt.Errorf("%d entries in lists, want %d", listed, entries))
	}
	for _, c := range x.Custom {
		check("record", records, c.Record)
	}
	for _, c := range x.Catalogs {
		lines := len(c.LineRecord)
		err = cmp.Or(err, equalLengths("lines", lines, len(c.LineOffset), len(c.LineSize), len(c.LineSchema),
			len(c.LinePackage), len(c.LineName), len(c.BySchema), len(c.ByPackage), len(c.ByName)))
		check("record", records, c.LineRecord...)
		for _, column := range [][]uint32{c.LineSchema, c.LinePackage, c.LineName} {
			check("string", texts, column...)
		}
		for _, sorted := range [][]uint32{c.BySchema, c.ByPackage, c.ByName} {
			check("line", lines, sorted...)
		}
		check("record", records, c.Zstd...)
		check("record", records, c.Gzip...)
	}
	return err
}

// part returns part i of a list, whose parts end at ends.
func part(list, ends []uint32, i int) []uint32 {
	from := uint32(0)
	if i > 0 {
		from = ends[i-1]
	}
	return list[from:ends[i]]
}

// equalRun returns the run [first, end) of n sorted values for which compare returns 0. Compare returns less than 0 for
// the values before the run, and more than 0 for the values after it. Whatever compare returns, first <= end <= n.
func equalRun(n int, compare func(int) int) (first, end int) {
	first = sort.Search(n, func(i int) bool { return compare(i) >= 0 })
	return first, first + sort.Search(n-first, func(i int) bool { return compare(first+i) > 0 })
}

// search returns the elements of a sorted list for which compare returns 0.
func search[T any](sorted []T, compare func(T) int) []T {
	first, end := equalRun(len(sorted), func(i int) int { return compare(sorted[i]) })
	return sorted[first:end]
}
