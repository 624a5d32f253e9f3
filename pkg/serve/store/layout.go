package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// The format of the file, as doc.go describes it. What changes it changes formatVersion.
const (
	magic         = "opmstore"
	footerMagic   = "opmindex"
	formatVersion = 2
	headerSize    = 32
	footerSize    = 48
)

var order = binary.LittleEndian

// append appends the index as it is in the file: how many rows each table has and how many bytes of strings there are,
// the tables, the strings. Names has the strings.
func (x *index) append(dst []byte) ([]byte, error) {
	for table := range x.tables {
		if uint64(table.Elem().Len()) > math.MaxUint32 {
			return nil, fmt.Errorf("more than %d rows in a table of %v", uint64(math.MaxUint32), table.Type())
		}
		dst = order.AppendUint32(dst, uint32(table.Elem().Len()))
	}
	if uint64(len(x.text)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d bytes of names, more than %d", len(x.text), uint64(math.MaxUint32))
	}
	dst = order.AppendUint32(dst, uint32(len(x.text)))
	for table := range x.tables {
		var err error
		if dst, err = binary.Append(dst, order, table.Elem().Interface()); err != nil {
			return nil, err
		}
	}
	return append(dst, x.text...), nil
}

// parseIndex is the opposite of append. What it returns is safe to use: every number that refers to a row, a string or
// a part of the file does so.
func parseIndex(data []byte, recordsEnd uint64) (*index, error) {
	const head = 4 * (tableCount + 1)
	if len(data) < head {
		return nil, fmt.Errorf("an index of %d bytes", len(data))
	}
	x := &index{}
	counts := map[reflect.Type]int{} // by the type of rows; of types with several tables none refers to
	rest, rows := data[head:], data
	for table := range x.tables {
		typ := table.Type().Elem().Elem()
		n := order.Uint32(rows)
		rows = rows[4:]
		size := uint64(n) * uint64(typ.Size())
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("the table of %v ends behind the index", typ)
		}
		table.Elem().Set(reflect.MakeSlice(table.Type().Elem(), int(n), int(n)))
		if _, err := binary.Decode(rest[:size], order, table.Elem().Interface()); err != nil {
			return nil, err
		}
		counts[typ] = int(n)
		rest = rest[size:]
	}
	if n := order.Uint32(rows); uint64(n) != uint64(len(rest)) {
		return nil, fmt.Errorf("%d bytes of strings where %d are to be", len(rest), n)
	}
	x.text = slices.Clone(rest) // without the tables
	if err := checkReferences(x, data[head:], counts); err != nil {
		return nil, err
	}
	return x, x.check(recordsEnd)
}

// checkReferences returns an error about a row in data that refers to none.
func checkReferences(x *index, data []byte, counts map[reflect.Type]int) error {
	for table := range x.tables {
		row := table.Type().Elem().Elem()
		columns, width := columnsOf(row), int(row.Size())
		for range table.Elem().Len() {
			for _, c := range columns {
				if !c.holds(data[:width], counts[c.to]) {
					return fmt.Errorf("a row of %v refers to no %v", row, c.to)
				}
			}
			data = data[width:]
		}
	}
	return nil
}

// check returns an error about strings, lines and records that are not where the tables say.
func (x *index) check(recordsEnd uint64) error {
	from := uint32(0)
	for i, s := range x.Strings {
		if s.End < from || int(s.End) > len(x.text) || i == 0 && s.End > 0 || !utf8.Valid(x.text[from:s.End]) {
			return fmt.Errorf("string %d is not in the index", i)
		}
		from = s.End
	}
	if len(x.Strings) == 0 || int(from) != len(x.text) {
		return errors.New("the index has too few strings")
	}
	for _, sorted := range [][]lineRef{x.BySchema, x.ByPackage, x.ByName} {
		if len(sorted) != len(x.Lines) {
			return errors.New("a table of sorted lines has not all")
		}
	}
	for i, r := range x.Records {
		if r.Offset < headerSize || r.Offset > recordsEnd || uint64(r.Size) > recordsEnd-r.Offset {
			return fmt.Errorf("record %d is not in the file", i)
		}
	}
	return nil
}

// names numbers the strings of an index, at first as they come and in the end by their order.
type names struct {
	ids  map[string]stringID
	list []string
}

func (n *names) id(s string) stringID {
	if n.ids == nil {
		n.ids = map[string]stringID{}
		n.id("") // is always there
	}
	i, ok := n.ids[s]
	if !ok {
		i = stringID(len(n.list))
		n.list = append(n.list, s)
		n.ids[s] = i
	}
	return i
}

// finish enters the strings into the index, and gives those that its tables refer to their final numbers.
func (n *names) finish(x *index) {
	n.id("")
	final := make([]stringID, len(n.list))
	for _, s := range slices.Sorted(slices.Values(n.list)) {
		x.text = append(x.text, s...)
		final[n.ids[s]] = add(&x.Strings, stringRow{uint32(len(x.text))})
	}
	for table := range x.tables {
		rows := table.Elem()
		for _, c := range columnsOf(rows.Type().Elem()) {
			if c.to != reflect.TypeFor[stringRow]() {
				continue
			}
			for i := range rows.Len() {
				switch v := rows.Index(i).Field(c.field); {
				case c.kind == toRow:
					v.SetUint(uint64(final[v.Uint()]))
				case v.Uint() > 0:
					v.SetUint(uint64(some(final[v.Uint()-1])))
				}
			}
		}
	}
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
