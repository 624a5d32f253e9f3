package yamljson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

const byteOrderMark = "\uFEFF"

// breaks are the line breaks of a text other than LF.
type breaks struct {
	separators int  // number of U+2028 and U+2029
	returns    bool // CR LF
	others     bool // CR alone, U+0085, or a byte order mark, which YAML skips at line starts
}

// checkCharacters rejects a text that is not UTF-8 or has characters that YAML 1.1 does not allow
// (https://yaml.org/spec/1.1/#c-printable). The error has the place of the first one.
func checkCharacters(text []byte) (found breaks, err error) {
	for i := 0; i < len(text); {
		n := ordinary(text[i:])
		i += n
		if n > 0 {
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return found, errorAt(text, i, "not UTF-8")
		case r == '\r' && i+1 < len(text) && text[i+1] == '\n':
			found.returns = true
		case r == 0x2028, r == 0x2029:
			found.separators++
		case r == '\r', r == 0x85, r == 0xfeff:
			found.others = true
		case r < ' ' && r != '\t' && r != '\n', r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
			return found, errorAt(text, i, fmt.Sprintf("control character %U", r))
		}
		i += size
	}
	return found, nil
}

// ordinary returns the number of bytes at the start of text that are certainly line feeds or printable ASCII.
func ordinary(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		special := w&highBits | below(w, ' ')&^equal(w, '\n') | equal(w, 0x7f)
		if special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	return n
}

// The functions below examine eight bytes at once. They set the high bit of each byte that meets their condition, and
// no other bit. No byte of 0x80 and above is equal to or below an ASCII character.
const (
	oneEach  = 0x0101010101010101
	highBits = 0x80 * oneEach
)

// below marks the bytes of w that are less than c. Without the high bits no sum carries into the next byte.
func below(w uint64, c byte) uint64 {
	return ^(w&^highBits + uint64(0x80-c)*oneEach) & ^w & highBits
}

// equal marks the bytes of w that are c.
func equal(w uint64, c byte) uint64 {
	return below(w^uint64(c)*oneEach, 1)
}

// errorAt is an error at the byte offset of text.
func errorAt(text []byte, offset int, msg string) *Error {
	line, start := 1, 0
	for i, c := range text[:offset] {
		if c == '\n' {
			line, start = line+1, i+1
		}
	}
	return &Error{Line: line, Column: 1 + utf8.RuneCount(text[start:offset]), Msg: msg}
}
