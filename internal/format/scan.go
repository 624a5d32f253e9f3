package format

import (
	"encoding/binary"
	"math/bits"

	"github.com/opm-toolchain/opm/internal/skim"
)

// scan indexes the value that starts at offset i, which is null if there is none.
func (d *Document) scan(i int) {
	c := skim.At(d.src, i)
	if c.Kind() == 0 {
		d.src = append(d.src, "null"...)
		c = skim.At(d.src, c.Offset())
	}
	d.index(&c)
}

// index indexes the next value.
func (d *Document) index(c *skim.Cursor) {
	first := c.Kind()
	self, start := len(d.nodes), c.Offset()
	switch first {
	case '"':
		end, escaped, irregular := stringEnd(d.src, start+1)
		c.Seek(end)
		d.nodes = append(d.nodes, node{start: start, end: end, kind: stringKind, escaped: escaped, irregular: irregular})
	case '{', '[':
		d.nodes = append(d.nodes, node{start: start, kind: kinds[first]})
		for c.Enter(); c.More(); {
			d.index(c)
		}
		d.nodes[self].end, d.nodes[self].next = c.Offset(), uint32(len(d.nodes))
	default:
		c.Skip()
		d.nodes = append(d.nodes, node{start: start, end: c.Offset(), kind: kinds[first]})
	}
}

// kinds maps the first bytes of values other than numbers to their kinds.
var kinds = [256]kind{'n': literalKind, 't': literalKind, 'f': literalKind, '[': arrayKind, '{': objectKind}

// stringEnd returns the end of the string whose text starts at offset i, and its properties. One search for both is
// faster than a search for the end and then one for escapes.
func stringEnd(src []byte, i int) (end int, escaped, irregular bool) {
	for {
		i += stringStop(src[i:])
		switch src[i] {
		case '"':
			return i + 1, escaped, irregular
		case '\\':
			escaped, irregular = true, irregular || src[i+1] == 'u' || src[i+1] == '/'
			i += 2
		default:
			irregular = irregular || isLineSeparator(src[i:])
			i++
		}
	}
}

// separatorLead is the first byte of the line separators, and of much other punctuation.
const separatorLead = 0xE2

// isLineSeparator reports whether b starts with U+2028 or U+2029.
func isLineSeparator(b []byte) bool {
	return len(b) >= 3 && b[0] == separatorLead && b[1] == 0x80 && b[2]|1 == 0xA9
}

const (
	everyByte = 0x0101010101010101
	everyHigh = 0x8080808080808080
)

// stringStop returns the offset of the first quote, backslash or separatorLead in b, or len(b). It checks eight bytes
// at a time: most of a catalog is long text without these bytes.
func stringStop(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		word := binary.LittleEndian.Uint64(b[i:])
		found := zeroBytes(word^'"'*everyByte) | zeroBytes(word^'\\'*everyByte) | zeroBytes(word^separatorLead*everyByte)
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '"' || b[i] == '\\' || b[i] == separatorLead {
			break
		}
	}
	return i
}

// zeroBytes has the high bit of every byte of word that is zero; bits above the lowest of them have no meaning.
func zeroBytes(word uint64) uint64 { return (word - everyByte) &^ word & everyHigh }
