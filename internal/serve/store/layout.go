package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// The format of the file, described in doc.go. A change of the format must change formatVersion.
const (
	magic         = "opmstore"
	footerMagic   = "opmindex"
	formatVersion = 5
	headerSize    = 32
	footerSize    = 48
)

var order = binary.LittleEndian

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

func header(key Key) []byte {
	text := order.AppendUint32([]byte(magic), formatVersion)
	text = order.AppendUint32(text, 0)
	text = append(text, key[:]...)
	return order.AppendUint64(text, xxhash.Sum64(text))
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
