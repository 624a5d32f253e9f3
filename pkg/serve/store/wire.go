package store

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields in messages of package api.
const (
	packageName               = 1
	packageChannels           = 2
	packageDefaultChannelName = 3
	packageDeprecation        = 4

	channelName        = 1
	channelCSVName     = 2
	channelDeprecation = 3

	deprecationMessage = 1

	entryPackageName = 1
	entryChannelName = 2
	entryBundleName  = 3
	entryReplaces    = 4

	kindGroup   = 1
	kindVersion = 2
	kindKind    = 3

	typedType  = 1 // of dependencies and properties
	typedValue = 2

	bundleCSVName      = 1
	bundlePackageName  = 2
	bundleChannelName  = 3
	bundleCSVJSON      = 4
	bundleObject       = 5
	bundlePath         = 6
	bundleProvidedAPIs = 7
	bundleRequiredAPIs = 8
	bundleVersion      = 9
	bundleSkipRange    = 10
	bundleDependencies = 11
	bundleProperties   = 12
	bundleReplaces     = 13
	bundleSkips        = 14
	bundleDeprecation  = 15
)

// The fields of a body; see doc.go.
const (
	bodyFields      = 1
	bodyObject      = 2
	bodyCSV         = 3
	bodyText        = 4
	bodyDescription = 5
	bodyIcon        = 6
)

type bytesOrString interface{ ~[]byte | ~string }

// appendField appends a field of texts, bytes or messages.
func appendField[T bytesOrString](dst []byte, number protowire.Number, value T) []byte {
	dst = appendLength(dst, number, len(value))
	return append(dst, value...)
}

// appendIf is appendField for what is not sent when it is empty.
func appendIf[T bytesOrString](dst []byte, number protowire.Number, value T) []byte {
	if len(value) == 0 {
		return dst
	}
	return appendField(dst, number, value)
}

// appendLength begins a field of that many bytes.
func appendLength(dst []byte, number protowire.Number, size int) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

// appendDeprecation appends a field that holds an api.Deprecation.
func appendDeprecation[T bytesOrString](dst []byte, number protowire.Number, message T) []byte {
	return appendField(dst, number, appendIf(nil, deprecationMessage, message))
}

// appendTyped appends a field that holds an api.Property or an api.Dependency.
func appendTyped(dst []byte, number protowire.Number, typ string, value []byte) []byte {
	dst = appendLength(dst, number, sizeIf(typedType, len(typ))+sizeIf(typedValue, len(value)))
	dst = appendIf(dst, typedType, typ)
	return appendIf(dst, typedValue, value)
}

func sizeOf(number protowire.Number, size int) int {
	return protowire.SizeTag(number) + protowire.SizeBytes(size)
}

// sizeIf returns how many bytes appendIf takes.
func sizeIf(number protowire.Number, size int) int {
	if size == 0 {
		return 0
	}
	return protowire.SizeTag(number) + protowire.SizeBytes(size)
}

var errWire = errors.New("not the encoding of protocol buffers")

// A wireField is a field of a message that was read.
type wireField struct {
	number protowire.Number
	value  []byte // of bytes
	varint uint64
}

// nextField reads the first field of data, and returns what follows it.
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
