package store

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
)

// Copied rows equal the rows that encoding/binary encodes, which big-endian machines use.
func TestTableEndianness(t *testing.T) {
	data, _ := smallStore(t)
	foot, err := parseFooter(data[len(data)-footerSize:], int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := parseIndex(data[foot.offset:][:foot.size], foot.offset)
	if err != nil {
		t.Fatal(err)
	}
	for table := range x.tables {
		if size := binary.Size(reflect.Zero(table.row).Interface()); size != table.width {
			t.Errorf("%v: %d bytes in the file, %d in memory", table.row, size, table.width)
		}
		if table.rows.Len() == 0 {
			t.Errorf("%v: no rows to compare", table.row)
		}
		encoded := table.bytes(false)
		if copied := table.bytes(true); littleEndian && !bytes.Equal(copied, encoded) {
			t.Errorf("%v: memory has\n%x, want\n%x", table.row, copied, encoded)
		}
		want := table.rows.Interface()
		if table.decode(encoded, false); !reflect.DeepEqual(table.rows.Interface(), want) {
			t.Errorf("%v: decoded %v, want %v", table.row, table.rows, want)
		}
	}
}
