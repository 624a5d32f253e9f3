package store

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/opm-toolchain/opm/internal/format"
)

// The numbers of fields in google.protobuf.Struct, Value and ListValue, and in the entries of a map.
const (
	structFields = 1

	valueNull   = 1
	valueNumber = 2
	valueString = 3
	valueBool   = 4
	valueStruct = 5
	valueList   = 6

	listValues = 1

	mapKey   = 1
	mapValue = 2
)

// A structValue is a google.protobuf.Value whose size is known, so that it can be written without moving what is in it.
type structValue struct {
	kind  protowire.Number
	key   string // within an object
	text  string // of a string
	bits  uint64 // of the other scalars
	items []structValue
	size  int // of the struct or the list, without its tag and length
}

// structOf returns an object, which is valid JSON without equal keys, as google.protobuf.Struct, with its keys sorted.
// A number beyond those of 64 bits becomes the largest of them: the message knows no infinity.
func structOf(object jsontext.Value) []byte {
	d := jsontext.NewDecoder(bytes.NewBuffer(format.AppendCompact(nil, object)))
	v := readValue(d)
	return v.appendContent(make([]byte, 0, v.size))
}

// readValue reads the next value of d, which is valid JSON.
func readValue(d *jsontext.Decoder) structValue {
	token, _ := d.ReadToken()
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return readItems(d, valueStruct)
	case jsontext.KindBeginArray:
		return readItems(d, valueList)
	case jsontext.KindString:
		return structValue{kind: valueString, text: token.String()}
	case jsontext.KindNumber:
		return structValue{kind: valueNumber, bits: math.Float64bits(finite(token.String()))}
	case jsontext.KindTrue:
		return structValue{kind: valueBool, bits: 1}
	case jsontext.KindFalse:
		return structValue{kind: valueBool}
	default:
		return structValue{kind: valueNull}
	}
}

// finite returns the number nearest to the one written.
func finite(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // fails beyond the largest number only
	return max(-math.MaxFloat64, min(math.MaxFloat64, n))
}

func readItems(d *jsontext.Decoder, kind protowire.Number) structValue {
	v := structValue{kind: kind}
	for next := d.PeekKind(); next != jsontext.KindEndObject && next != jsontext.KindEndArray; next = d.PeekKind() {
		key := ""
		if kind == valueStruct {
			token, _ := d.ReadToken()
			key = token.String()
		}
		item := readValue(d)
		item.key = key
		v.size += protowire.SizeTag(structFields) + protowire.SizeBytes(v.itemSize(&item))
		v.items = append(v.items, item)
	}
	_, _ = d.ReadToken()
	return v
}

// itemSize returns the size of an entry of a map, or of an element of a list.
func (v *structValue) itemSize(item *structValue) int {
	size := item.messageSize()
	if v.kind == valueList {
		return size
	}
	return sizeOf(mapKey, len(item.key)) + sizeOf(mapValue, size)
}

func sizeOf(number protowire.Number, size int) int {
	return protowire.SizeTag(number) + protowire.SizeBytes(size)
}

// messageSize returns the size of v as a message.
func (v *structValue) messageSize() int {
	switch v.kind {
	case valueString:
		return sizeOf(valueString, len(v.text))
	case valueNumber:
		return protowire.SizeTag(valueNumber) + protowire.SizeFixed64()
	case valueStruct, valueList:
		return sizeOf(v.kind, v.size)
	default:
		return protowire.SizeTag(v.kind) + protowire.SizeVarint(v.bits)
	}
}

// appendMessage appends v as a message.
func (v *structValue) appendMessage(dst []byte) []byte {
	switch v.kind {
	case valueString:
		return appendField(dst, valueString, v.text)
	case valueNumber:
		return protowire.AppendFixed64(protowire.AppendTag(dst, valueNumber, protowire.Fixed64Type), v.bits)
	case valueStruct, valueList:
		return v.appendContent(appendLength(dst, v.kind, v.size))
	default:
		return protowire.AppendVarint(protowire.AppendTag(dst, v.kind, protowire.VarintType), v.bits)
	}
}

// appendContent appends the items of a struct or a list, whose fields have the same number.
func (v *structValue) appendContent(dst []byte) []byte {
	for i := range v.items {
		item := &v.items[i]
		dst = appendLength(dst, structFields, v.itemSize(item))
		if v.kind == valueStruct {
			dst = appendField(dst, mapKey, item.key)
			dst = appendLength(dst, mapValue, item.messageSize())
		}
		dst = item.appendMessage(dst)
	}
	return dst
}

var _ = [1]struct{}{}[structFields-listValues] // appendContent uses the one for both
