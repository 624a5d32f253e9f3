package format

import (
	"encoding/binary"
	"math/bits"
)

// scan indexes the value that starts at offset i and returns the offset after it.
func (d *Document) scan(i int) int {
	switch d.src[i] {
	case '{', '[':
		return d.scanContainer(i)
	case '"':
		return d.scanString(i)
	case 'n', 't', 'f':
		return d.scanWord(i, literalKind)
	default:
		return d.scanWord(i, numberKind)
	}
}

// scanContainer takes commas and colons for white space, as the text is known to have them where they belong.
func (d *Document) scanContainer(i int) int {
	self, closing := len(d.nodes), byte(']')
	d.nodes = append(d.nodes, node{start: i, kind: arrayKind})
	if d.src[i] == '{' {
		d.nodes[self].kind, closing = objectKind, '}'
	}
	i = skipSpace(d.src, i+1)
	for i < len(d.src) && d.src[i] != closing {
		i = skipSpace(d.src, d.scan(i))
	}
	d.nodes[self].end, d.nodes[self].next = i+1, len(d.nodes)
	return i + 1
}

func (d *Document) scanWord(i int, k kind) int {
	start := i
	for i++; i < len(d.src) && d.src[i] > ' ' && d.src[i] != ',' && d.src[i] != ']' && d.src[i] != '}'; i++ {
	}
	d.nodes = append(d.nodes, node{start: start, end: i, kind: k})
	return i
}

func (d *Document) scanString(i int) int {
	n := node{start: i, kind: stringKind}
	for i++; ; {
		i += stringStop(d.src[i:])
		switch d.src[i] {
		case '"':
			n.end = i + 1
			d.nodes = append(d.nodes, n)
			return i + 1
		case '\\':
			n.escaped = true
			n.irregular = n.irregular || d.src[i+1] == 'u' || d.src[i+1] == '/'
			i += 2
		default:
			n.irregular = n.irregular || isLineSeparator(d.src[i:])
			i++
		}
	}
}

// skipSpace returns the offset of the first byte from i on that is neither white space nor a comma nor a colon.
func skipSpace(src []byte, i int) int {
	for i < len(src) && (src[i] <= ' ' || src[i] == ',' || src[i] == ':') {
		i++
	}
	return i
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

// stringStop returns the offset of the first quote, backslash or separatorLead in b, or len(b). It looks at eight
// bytes at a time: most of a catalog is text in which none of them means long.
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

// zeroBytes has the high bit of every byte of word that is zero; bits above the lowest of them mean nothing.
func zeroBytes(word uint64) uint64 { return (word - everyByte) &^ word & everyHigh }
