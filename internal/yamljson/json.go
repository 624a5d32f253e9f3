package yamljson

import (
	"encoding/binary"
	"math/bits"
)

// appendString appends s as a JSON string, with only the escapes that JSON requires.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// appendEscaped appends s as a part of a JSON string.
func appendEscaped(dst, s []byte) []byte {
	start := 0
	for i := unescaped(s); i < len(s); i += 1 + unescaped(s[i+1:]) {
		dst = append(dst, s[start:i]...)
		dst = AppendEscape(dst, s[i])
		start = i + 1
	}
	return append(dst, s[start:]...)
}

// unescaped returns the number of bytes at the start of s that need no escape.
func unescaped(s []byte) int {
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(s[n:])
		if escapes := below(w, ' ') | equal(w, '"') | equal(w, '\\'); escapes != 0 {
			return n + bits.TrailingZeros64(escapes)/8
		}
	}
	for ; n < len(s); n++ {
		if c := s[n]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return n
}

// AppendEscape appends the shortest escape of a quote, a backslash or a control character in a JSON string.
func AppendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
