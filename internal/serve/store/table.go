package store

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// A table is a slice of rows in an index. Rows consist of numbers of 32 and 64 bits, without padding. On a
// little-endian machine their memory equals the bytes of the file, so a table is read and written by copying it.
type table struct {
	rows  reflect.Value // the slice
	row   reflect.Type
	width int // of a row in bytes
}

const tableCount = 18

// littleEndian reports whether this machine has the byte order of the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// tables yields the tables in the order of the file.
func (x *index) tables(yield func(table) bool) {
	v := reflect.ValueOf(x).Elem()
	for i := range tableCount {
		rows := v.Field(i)
		row := rows.Type().Elem()
		if !yield(table{rows, row, int(row.Size())}) {
			return
		}
	}
}

func (t table) memory() []byte {
	return unsafe.Slice((*byte)(t.rows.UnsafePointer()), t.rows.Len()*t.width)
}

func (t table) bytes(little bool) []byte {
	if little {
		return t.memory()
	}
	data, err := binary.Append(nil, order, t.rows.Interface())
	if err != nil { // the row type has no fixed size
		panic(err)
	}
	return data
}

func (t table) decode(data []byte, little bool) {
	n := len(data) / t.width
	t.rows.Set(reflect.MakeSlice(t.rows.Type(), n, n))
	if little {
		copy(t.memory(), data)
		return
	}
	if _, err := binary.Decode(data, order, t.rows.Interface()); err != nil {
		panic(err) // as in bytes
	}
}

type reference interface {
	refersTo() (kind columnKind, row reflect.Type)
}

// A column is a column of a table that refers to rows.
type column struct {
	kind   columnKind
	to     reflect.Type // the type of the rows
	offset int          // in a row
}

type columnKind int

const (
	toRow columnKind = iota
	toOptional
	toRun
)

func (id[T]) refersTo() (columnKind, reflect.Type)       { return toRow, reflect.TypeFor[T]() }
func (optional[T]) refersTo() (columnKind, reflect.Type) { return toOptional, reflect.TypeFor[T]() }
func (run[T]) refersTo() (columnKind, reflect.Type)      { return toRun, reflect.TypeFor[T]() }

func (t table) columns() (all []column) {
	for f := range t.row.Fields() {
		if r, ok := reflect.TypeAssert[reference](reflect.Zero(f.Type)); ok {
			kind, to := r.refersTo()
			all = append(all, column{kind, to, int(f.Offset)})
		}
	}
	return all
}

// within reports whether the column refers only to rows of a table with this number of rows, in every row of memory.
func (c column) within(memory []byte, width, rows int) bool {
	limit := uint64(rows)
	for ; len(memory) > 0; memory = memory[width:] {
		end := uint64(binary.NativeEndian.Uint32(memory[c.offset:]))
		switch c.kind {
		case toRow:
			end++
		case toRun:
			end += uint64(binary.NativeEndian.Uint32(memory[c.offset+4:]))
		}
		if end > limit {
			return false
		}
	}
	return true
}

// renumber replaces the preliminary numbers of strings by their final ones, in every row of memory.
func (c column) renumber(memory []byte, width int, final []uint32) {
	for ; len(memory) > 0; memory = memory[width:] {
		field := memory[c.offset:]
		n := binary.NativeEndian.Uint32(field)
		switch {
		case c.kind == toRow:
			n = final[n]
		case n > 0:
			n = final[n-1] + 1
		}
		binary.NativeEndian.PutUint32(field, n)
	}
}
