package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// The format of the file, described in doc.go. A change of the format must change formatVersion.
const (
	magic         = "opmstore"
	footerMagic   = "opmindex"
	formatVersion = 4
	headerSize    = 32
	footerSize    = 48
)

var order = binary.LittleEndian

// write writes the index in the format of the file: the number of rows of each table and the size of the strings in
// bytes, the tables, and the strings, which are in x.text.
func (x *index) write(w io.Writer) error {
	var counts []byte
	for t := range x.tables {
		if uint64(t.rows.Len()) > math.MaxUint32 {
			return fmt.Errorf("more than %d rows in a table of %v", uint64(math.MaxUint32), t.row)
		}
		counts = order.AppendUint32(counts, uint32(t.rows.Len()))
	}
	if uint64(len(x.text)) > math.MaxUint32 {
		return fmt.Errorf("%d bytes of names, more than %d", len(x.text), uint64(math.MaxUint32))
	}
	if _, err := w.Write(order.AppendUint32(counts, uint32(len(x.text)))); err != nil {
		return err
	}
	for t := range x.tables {
		if _, err := w.Write(t.bytes(littleEndian)); err != nil {
			return err
		}
	}
	_, err := w.Write(x.text)
	return err
}

// parseIndex is the inverse of write. Its result is safe to use: every reference to a row, a string or a part of the
// file is valid.
func parseIndex(data []byte, recordsEnd uint64) (*index, error) {
	const head = 4 * (tableCount + 1)
	if len(data) < head {
		return nil, fmt.Errorf("the index has only %d bytes", len(data))
	}
	x := &index{}
	rows := map[reflect.Type]int{} // by row type; no column refers to a row type of several tables
	counts, rest := data[:head], data[head:]
	for t := range x.tables {
		n := order.Uint32(counts)
		counts = counts[4:]
		if uint64(n) > uint64(len(rest)/t.width) {
			return nil, fmt.Errorf("the table of %v ends after the index", t.row)
		}
		size := int(n) * t.width
		t.decode(rest[:size], littleEndian)
		rows[t.row] = int(n)
		rest = rest[size:]
	}
	if n := order.Uint32(counts); uint64(n) != uint64(len(rest)) {
		return nil, fmt.Errorf("%d bytes of strings, want %d", len(rest), n)
	}
	x.text = slices.Clone(rest) // so that data with the tables can be freed
	for t := range x.tables {
		for _, c := range t.columns() {
			if !c.within(t.memory(), t.width, rows[c.to]) {
				return nil, fmt.Errorf("a row of %v refers to a missing %v", t.row, c.to)
			}
		}
	}
	return x, x.check(recordsEnd)
}

// check returns an error about strings, lines and records that are outside the index or the file.
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
			return errors.New("a table of sorted lines is incomplete")
		}
	}
	for i, r := range x.Records {
		if r.Offset < headerSize || r.Offset > recordsEnd || uint64(r.Size) > recordsEnd-r.Offset {
			return fmt.Errorf("record %d is not in the file", i)
		}
		if r.Content/maxRatio > r.Size { // do not allocate that much memory just because the index claims it
			return fmt.Errorf("record %d of %d bytes cannot contain %d", i, r.Size, r.Content)
		}
	}
	return nil
}

// names assigns numbers to the strings of an index: in the order of first use at first, and in alphabetical order by
// finish.
type names struct {
	ids  map[string]stringID
	list []string
}

func (n *names) id(s string) stringID {
	if n.ids == nil {
		n.ids = map[string]stringID{}
		n.id("") // always exists
	}
	i, ok := n.ids[s]
	if !ok {
		i = stringID(len(n.list))
		n.list = append(n.list, s)
		n.ids[s] = i
	}
	return i
}

// finish adds the strings to the index, and replaces the references in its tables by their final numbers.
func (n *names) finish(x *index) {
	n.id("")
	final := make([]uint32, len(n.list)) // by the old number
	for _, s := range slices.Sorted(slices.Values(n.list)) {
		x.text = append(x.text, s...)
		final[n.ids[s]] = uint32(add(&x.Strings, stringRow{uint32(len(x.text))}))
	}
	for t := range x.tables {
		for _, c := range t.columns() {
			if c.to == reflect.TypeFor[stringRow]() {
				c.renumber(t.memory(), t.width, final)
			}
		}
	}
}

type footer struct {
	fileSize uint64
	offset   uint64 // of the index, which is the end of the records
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

// parseFooter parses the footer of a file of size bytes.
func parseFooter(data []byte, size int64) (footer, error) {
	f := footer{
		fileSize: order.Uint64(data), offset: order.Uint64(data[8:]),
		size: order.Uint64(data[16:]), sum: order.Uint64(data[24:]),
	}
	switch {
	case string(data[40:]) != footerMagic:
		return f, fmt.Errorf("%w: it does not end with a footer", ErrTruncated)
	case xxhash.Sum64(data[:32]) != order.Uint64(data[32:]):
		return f, fmt.Errorf("%w: wrong checksum of the footer", ErrChecksum)
	case f.fileSize != uint64(size):
		return f, fmt.Errorf("%w: it has %d bytes of %d", ErrTruncated, size, f.fileSize)
	case f.offset < headerSize || f.offset > f.fileSize-footerSize || f.size != f.fileSize-footerSize-f.offset:
		return f, fmt.Errorf("%w: no index at the position in its footer", ErrChecksum)
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

// parseHeader checks the header of a store, which must have the key.
func parseHeader(data []byte, key Key) error {
	version := order.Uint32(data[8:])
	switch {
	case string(data[:8]) != magic:
		return ErrForeign
	case version != formatVersion:
		return fmt.Errorf("%w: %d, and this is %d", ErrVersion, version, formatVersion)
	case xxhash.Sum64(data[:headerSize-8]) != order.Uint64(data[headerSize-8:]):
		return fmt.Errorf("%w: wrong checksum of the header", ErrChecksum)
	case Key(data[16:24]) != key:
		return fmt.Errorf("%w: it has key %v, want %v", ErrKey, Key(data[16:24]), key)
	}
	return nil
}
