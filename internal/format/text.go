package format

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// AppendString appends s as a JSON string, escaped as encoding/json does it with SetEscapeHTML(false): quotes,
// backslashes, control characters and U+2028 and U+2029. Bytes that are not UTF-8 become \ufffd.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if isPlainJSON(s[i]) {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[done:i]...), `\ufffd`...)
			done = i + size
		} else if needsEscape(r) {
			dst = appendEscaped(append(dst, s[done:i]...), r)
			done = i + size
		}
		i += size
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

func isPlainJSON(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

func needsEscape(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029'
}

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '\u2028':
		return append(dst, `\u2028`...)
	case '\u2029':
		return append(dst, `\u2029`...)
	}
	return yamljson.AppendEscape(dst, byte(r))
}

// appendRegular appends the body of a valid JSON string with the escapes that AppendString would have used.
func appendRegular(dst, body []byte) []byte {
	done := 0
	for i := 0; ; {
		i += stringStop(body[i:])
		if i == len(body) {
			return append(dst, body[done:]...)
		}
		r, size := utf8.DecodeRune(body[i:])
		if r == '\\' {
			r, size = unescape(body[i:])
		}
		dst = append(dst, body[done:i]...)
		if needsEscape(r) {
			dst = appendEscaped(dst, r)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
		i += size
		done = i
	}
}

// appendUnescaped appends the text of body, the inside of a valid JSON string.
func appendUnescaped(dst, body []byte) []byte {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return append(dst, body...)
		}
		r, size := unescape(body[i:])
		dst = utf8.AppendRune(append(dst, body[:i]...), r)
		body = body[i+size:]
	}
}

// shortEscapes has the characters that follow a backslash, except u, and their meaning.
var shortEscapes = [256]rune{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescape returns the character that the escape at the start of b means, and the length of the escape. Half of
// a surrogate pair means U+FFFD.
func unescape(b []byte) (r rune, size int) {
	if b[1] != 'u' {
		return shortEscapes[b[1]], 2
	}
	r = hexRune(b[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(b[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hexRune returns the number with these four hexadecimal digits.
func hexRune(digits []byte) rune {
	var r rune
	for _, c := range digits {
		if c <= '9' {
			r = r<<4 | rune(c-'0')
		} else {
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
