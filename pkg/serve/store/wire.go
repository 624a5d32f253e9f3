package store

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
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
