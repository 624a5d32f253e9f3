package store

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opm-toolchain/opm/internal/format"
)

// The fields of api.Bundle with manifests, which are copied without decoding.
const (
	bundleCSVJSON = 4
	bundleObject  = 5
)

// The fields of a body; see doc.go.
const (
	bodyFields      = 1
	bodyCSV         = 2
	bodyText        = 3
	bodyDescription = 4
	bodyObject      = bundleObject
	bodyIcon        = 6
)

// appendField appends a string, bytes or message field, given in parts.
func appendField(dst []byte, number protowire.Number, parts ...[]byte) []byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	dst = protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.BytesType), uint64(size))
	dst = slices.Grow(dst, size)
	for _, part := range parts {
		dst = append(dst, part...)
	}
	return dst
}

func appendNumber(dst []byte, number protowire.Number, value int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), uint64(value))
}

var errWire = errors.New("invalid protobuf encoding")

type wireField struct {
	number protowire.Number
	value  []byte // of bytes
	varint uint64
}

// nextField reads the first field of data, and returns the data after it.
func nextField(data []byte) (f wireField, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(data)
	if n < 0 {
		return f, nil, errWire
	}
	f.number = number
	data = data[n:]
	switch kind {
	case protowire.BytesType:
		f.value, n = protowire.ConsumeBytes(data)
	case protowire.VarintType:
		f.varint, n = protowire.ConsumeVarint(data)
	default:
		n = -1
	}
	if n < 0 {
		return f, nil, errWire
	}
	return f, data[n:], nil
}

// finiteNumbers decodes numbers beyond 64 bits as the largest finite number, since google.protobuf.Value has no
// infinity.
var finiteNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != jsontext.KindNumber {
		return errors.ErrUnsupported
	}
	number, err := d.ReadToken()
	if err != nil {
		return err
	}
	n, _ := strconv.ParseFloat(number.String(), 64) // fails only for numbers out of range
	*v = max(-math.MaxFloat64, min(math.MaxFloat64, n))
	return nil
}))

// structOf returns a JSON object as an encoded google.protobuf.Struct with sorted keys. The last of several equal keys
// wins.
func structOf(object jsontext.Value) ([]byte, error) {
	var fields map[string]any
	object = format.AppendCompact(nil, object)
	if err := json.Unmarshal(object, &fields, finiteNumbers, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	s, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(s)
}
