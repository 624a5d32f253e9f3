package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// The format of the file, as doc.go describes it. What changes it changes formatVersion.
const (
	magic         = "opmstore"
	footerMagic   = "opmindex"
	formatVersion = 1
	headerSize    = 32
	footerSize    = 48
)

var order = binary.LittleEndian

// A tableID names a table of the index.
type tableID int

// The tables, in their order in the file.
const (
	tStrings tableID = iota
	tRecords
	tPackages
	tChannels
	tEntries
	tBundles
	tSkips
	tOrder
	tLists
	tKinds
	tProviders
	tEdges
	tCustom
	tCatalogs
	tFrames
	tLines
	tBySchema
	tByPackage
	tByName
	tableCount
)

// A column says what the numbers in a column of a table are.
type column struct {
	name string
	kind columnKind
	to   tableID // of what leads to a table
}

type columnKind int

const (
	colNumber   columnKind = iota
	colText                // a row of tStrings
	colRow                 // a row of the table to
	colOptional            // a row of the table to, plus one; 0 for none
	colRun                 // with the next column: the first row in the table to, and how many
	colWide                // with the next column: a number of 64 bits
)

// layout gives the columns of every table. Each takes four bytes in a row.
var layout = [tableCount][]column{
	tStrings: {{"end", colNumber, 0}},
	tRecords: {
		{"offset", colWide, 0}, {"", colNumber, 0}, {"size", colNumber, 0},
		{"content", colNumber, 0}, {"sum", colWide, 0}, {"", colNumber, 0},
	},
	tPackages: {
		{"name", colText, 0}, {"default channel", colText, 0}, {"deprecation", colOptional, tStrings},
		{"channels", colRun, tChannels}, {"", colNumber, 0}, {"bundles", colRun, tBundles}, {"", colNumber, 0},
		{"description", colOptional, tRecords}, {"icon", colOptional, tRecords},
	},
	tChannels: {
		{"name", colText, 0}, {"package", colRow, tPackages},
		{"head", colRow, tEntries}, {"deprecation", colOptional, tStrings},
		{"entries", colRun, tEntries}, {"", colNumber, 0},
	},
	tEntries: {
		{"channel", colRow, tChannels}, {"bundle", colRow, tBundles}, {"replaces", colText, 0}, {"skipRange", colText, 0},
		{"skips", colRun, tSkips}, {"", colNumber, 0}, {"rank", colNumber, 0},
	},
	tBundles: {
		{"name", colText, 0}, {"package", colRow, tPackages},
		{"body", colRow, tRecords}, {"deprecation", colOptional, tStrings},
		{"listed whole", colNumber, 0},
	},
	tSkips: {{"name", colText, 0}},
	tOrder: {{"channel", colRow, tChannels}},
	tLists: {{"record", colRow, tRecords}, {"messages", colNumber, 0}},
	tKinds: {
		{"group", colText, 0}, {"version", colText, 0},
		{"kind", colText, 0}, {"providers", colRun, tProviders}, {"", colNumber, 0},
	},
	tProviders: {{"entry", colRow, tEntries}},
	tEdges:     {{"to", colText, 0}, {"from", colRow, tEntries}},
	tCustom:    {{"schema", colText, 0}, {"package", colText, 0}, {"record", colRow, tRecords}},
	tCatalogs: {
		{"frames", colRun, tFrames}, {"", colNumber, 0}, {"lines", colRun, tLines}, {"", colNumber, 0},
		{"size", colWide, 0}, {"", colNumber, 0}, {"zstd size", colWide, 0}, {"", colNumber, 0},
	},
	tFrames: {
		{"record", colRow, tRecords}, {"offset", colWide, 0}, {"", colNumber, 0},
		{"zstd offset", colWide, 0}, {"", colNumber, 0},
	},
	tLines: {
		{"frame", colRow, tFrames}, {"offset", colNumber, 0}, {"size", colNumber, 0},
		{"schema", colText, 0}, {"package", colText, 0}, {"name", colText, 0},
	},
	tBySchema:  {{"line", colRow, tLines}},
	tByPackage: {{"line", colRow, tLines}},
	tByName:    {{"line", colRow, tLines}},
}

// An indexData is the index of a store: tables of numbers, and the bytes of the strings that tStrings gives the ends
// of. The strings are sorted, each once, and the first is "".
type indexData struct {
	tables [tableCount][]uint32 // row by row
	text   []byte
}

// rows returns how many rows a table has.
func (x *indexData) rows(t tableID) int { return len(x.tables[t]) / len(layout[t]) }

// row returns one row of a table, which must exist.
func (x *indexData) row(t tableID, i uint32) []uint32 {
	width := len(layout[t])
	from := int(i) * width
	return x.tables[t][from : from+width : from+width]
}

// add appends a row and returns its number.
func (x *indexData) add(t tableID, row ...uint32) uint32 {
	n := x.rows(t)
	x.tables[t] = append(x.tables[t], row...)
	return uint32(n)
}

// bytes returns a string.
func (x *indexData) bytes(id uint32) []byte {
	ends := x.tables[tStrings]
	from := uint32(0)
	if id > 0 {
		from = ends[id-1]
	}
	return x.text[from:ends[id]]
}

func (x *indexData) string(id uint32) string { return string(x.bytes(id)) }

// wide joins the two halves of a number.
func wide(halves []uint32) uint64 { return uint64(halves[0]) | uint64(halves[1])<<32 }

// halves is the opposite of wide.
func halves(n uint64) (low, high uint32) { return uint32(n), uint32(n >> 32) }

// append appends the index as it stands in the file: how many rows each table has and how many bytes of strings there
// are, the tables, the strings.
func (x *indexData) append(dst []byte) ([]byte, error) {
	for t := range tableCount {
		if uint64(x.rows(t)) > math.MaxUint32 {
			return nil, fmt.Errorf("more than %d rows in table %d of the index", uint64(math.MaxUint32), t)
		}
		dst = order.AppendUint32(dst, uint32(x.rows(t)))
	}
	if uint64(len(x.text)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d bytes of names, more than %d", len(x.text), uint64(math.MaxUint32))
	}
	dst = order.AppendUint32(dst, uint32(len(x.text)))
	for _, table := range x.tables {
		for _, n := range table {
			dst = order.AppendUint32(dst, n)
		}
	}
	return append(dst, x.text...), nil
}

// parseIndex is the opposite of append. It keeps the end of data. What it returns is safe to use: every number that
// stands for a row of a table, a string or a part of the file does so.
func parseIndex(data []byte, recordsEnd uint64) (*indexData, error) {
	const head = 4 * (int(tableCount) + 1)
	if len(data) < head {
		return nil, fmt.Errorf("an index of %d bytes", len(data))
	}
	x := &indexData{}
	rest := data[head:]
	for t := range tableCount {
		size := uint64(order.Uint32(data[4*t:])) * uint64(len(layout[t])) * 4
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("table %d ends behind the index", t)
		}
		x.tables[t] = words(rest[:size])
		rest = rest[size:]
	}
	if n := order.Uint32(data[head-4:]); uint64(n) != uint64(len(rest)) {
		return nil, fmt.Errorf("%d bytes of strings where %d are to be", len(rest), n)
	}
	x.text = slices.Clone(rest) // without the tables
	return x, x.check(recordsEnd)
}

func words(data []byte) []uint32 {
	all := make([]uint32, len(data)/4)
	for i := range all {
		all[i] = order.Uint32(data[4*i:])
	}
	return all
}

// check returns an error about a number that stands for nothing.
func (x *indexData) check(recordsEnd uint64) error {
	if err := x.checkStrings(); err != nil {
		return err
	}
	for t := range tableCount {
		for i, c := range layout[t] {
			if !x.checkColumn(t, i) {
				return fmt.Errorf("the column %q of table %d leads nowhere", c.name, t)
			}
		}
	}
	for _, t := range []tableID{tBySchema, tByPackage, tByName} {
		if x.rows(t) != x.rows(tLines) {
			return fmt.Errorf("table %d has not all lines", t)
		}
	}
	for i := range x.rows(tRecords) {
		r := x.record(uint32(i))
		if r.offset < headerSize || r.offset > recordsEnd || uint64(r.size) > recordsEnd-r.offset {
			return fmt.Errorf("record %d is not in the file", i)
		}
	}
	return nil
}

func (x *indexData) checkStrings() error {
	ends := x.tables[tStrings]
	if len(ends) == 0 || ends[0] != 0 || !slices.IsSorted(ends) || ends[len(ends)-1] != uint32(len(x.text)) {
		return fmt.Errorf("the strings of the index have no order")
	}
	return nil
}

func (x *indexData) checkColumn(t tableID, col int) bool {
	c, width, table := layout[t][col], len(layout[t]), x.tables[t]
	limit := uint64(x.rows(c.to))
	if c.kind == colText {
		limit = uint64(x.rows(tStrings))
	}
	for i := col; i < len(table); i += width {
		n := uint64(table[i])
		switch {
		case (c.kind == colText || c.kind == colRow) && n >= limit,
			c.kind == colOptional && n > limit,
			c.kind == colRun && n+uint64(table[i+1]) > limit:
			return false
		}
	}
	return true
}

// A recordRow says where a record is.
type recordRow struct {
	offset  uint64
	size    uint32 // in the file
	content uint32 // of what is in the zstd frame; 0 where the record is stored as it is
	sum     uint64 // xxhash of what is in the file
}

func (x *indexData) record(i uint32) recordRow {
	r := x.row(tRecords, i)
	return recordRow{offset: wide(r[0:2]), size: r[2], content: r[3], sum: wide(r[4:6])}
}

// contentSize returns how many bytes reading the record gives.
func (r recordRow) contentSize() int {
	if r.content > 0 {
		return int(r.content)
	}
	return int(r.size)
}

// A footer stands at the end of a file and says where its index is.
type footer struct {
	fileSize uint64
	offset   uint64 // of the index, which is where the records end
	size     uint64
	sum      uint64 // xxhash of the index
}

func (f footer) append(dst []byte) []byte {
	from := len(dst)
	for _, n := range []uint64{f.fileSize, f.offset, f.size, f.sum} {
		dst = order.AppendUint64(dst, n)
	}
	dst = order.AppendUint64(dst, xxhash.Sum64(dst[from:]))
	return append(dst, footerMagic...)
}

// parseFooter reads the footer of a file of size bytes.
func parseFooter(data []byte, size int64) (footer, error) {
	f := footer{
		fileSize: order.Uint64(data), offset: order.Uint64(data[8:]),
		size: order.Uint64(data[16:]), sum: order.Uint64(data[24:]),
	}
	switch {
	case string(data[40:]) != footerMagic:
		return f, fmt.Errorf("%w: it does not end as one does", ErrTruncated)
	case xxhash.Sum64(data[:32]) != order.Uint64(data[32:]):
		return f, fmt.Errorf("%w: the checksum of its end is wrong", ErrChecksum)
	case f.fileSize != uint64(size):
		return f, fmt.Errorf("%w: it has %d bytes of %d", ErrTruncated, size, f.fileSize)
	case f.offset < headerSize || f.offset > f.fileSize-footerSize || f.size != f.fileSize-footerSize-f.offset:
		return f, fmt.Errorf("%w: there is no index where its end says", ErrChecksum)
	}
	return f, nil
}

func appendHeader(dst []byte, key Key) []byte {
	dst = append(dst, magic...)
	dst = order.AppendUint32(dst, formatVersion)
	dst = order.AppendUint32(dst, 0)
	dst = append(dst, key[:]...)
	return order.AppendUint64(dst, xxhash.Sum64(dst[len(dst)-headerSize+8:]))
}

// parseHeader reads the header of a store, which must be that of the catalog with the key.
func parseHeader(data []byte, key Key) error {
	version := order.Uint32(data[8:])
	switch {
	case string(data[:8]) != magic:
		return ErrForeign
	case version != formatVersion:
		return fmt.Errorf("%w: %d, and this is %d", ErrVersion, version, formatVersion)
	case xxhash.Sum64(data[:headerSize-8]) != order.Uint64(data[headerSize-8:]):
		return fmt.Errorf("%w: the checksum of its start is wrong", ErrChecksum)
	case Key(data[16:24]) != key:
		return fmt.Errorf("%w: it has the key %v, wanted is %v", ErrKey, Key(data[16:24]), key)
	}
	return nil
}
