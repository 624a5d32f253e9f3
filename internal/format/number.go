package format

import (
	"bytes"
	"math"
	"strconv"
)

// maxPlainDigits is a number of digits that fits in every integer of 64 bits. An integer with that many digits is
// printed unchanged, whether floating point can represent it or not.
const maxPlainDigits = 18

// appendNumber appends the number lit: the output of encoding/json for its 64-bit floating point value, or lit itself
// if that would be another number.
func appendNumber(dst, lit []byte) []byte {
	if isPlainInteger(lit) {
		return append(dst, lit...)
	}
	if f, ok := exactFloat(lit); ok {
		return appendFloat(dst, f)
	}
	return append(dst, lit...)
}

// appendYAMLNumber appends the number lit as sigs.k8s.io/yaml does, which reads the output of encoding/json and
// distinguishes integers of 64 bits from other numbers. If appendNumber does not change lit, neither does it.
func appendYAMLNumber(dst, lit []byte) []byte {
	if isPlainInteger(lit) {
		return append(dst, lit...)
	}
	f, ok := exactFloat(lit)
	if !ok {
		return append(dst, lit...)
	}
	var buf [32]byte
	text := string(appendFloat(buf[:0], f))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.AppendInt(dst, n, 10)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return strconv.AppendUint(dst, n, 10)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// isPlainInteger reports whether lit is an integer that is unchanged in every format.
func isPlainInteger(lit []byte) bool {
	digits := bytes.TrimPrefix(lit, []byte("-"))
	if len(digits) > maxPlainDigits || digits[0] == '0' && len(lit) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// exactFloat returns lit as a floating point number and whether that prints as the same decimal number.
func exactFloat(lit []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil {
		return 0, false
	}
	var text [32]byte
	return f, sameNumber(appendFloat(text[:0], f), lit)
}

// appendFloat appends f as encoding/json does: the shortest digits that give f, with an exponent from 1e21 up and
// below 1e-6, which has no leading zero.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// A decimal is 0.digits × 10^exp. Its digits neither start nor end with a zero; zero has no digits.
type decimal struct {
	negative bool
	digits   []byte
	exp      int
}

func sameNumber(a, b []byte) bool {
	var aBuf, bBuf [32]byte
	x, y := parseDecimal(aBuf[:0], a), parseDecimal(bBuf[:0], b)
	return x.negative == y.negative && x.exp == y.exp && bytes.Equal(x.digits, y.digits)
}

// parseDecimal reads the JSON number lit; it appends the digits to buf.
func parseDecimal(buf, lit []byte) decimal {
	var d decimal
	if lit[0] == '-' {
		d.negative, lit = true, lit[1:]
	}
	if e := bytes.IndexAny(lit, "eE"); e >= 0 {
		d.exp, lit = parseExponent(lit[e+1:]), lit[:e]
	}
	whole, fraction, _ := bytes.Cut(lit, []byte("."))
	d.exp += len(whole)
	digits := append(append(buf, whole...), fraction...)
	d.digits = bytes.TrimLeft(digits, "0")
	d.exp -= len(digits) - len(d.digits)
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		d.exp = 0
	}
	return d
}

// maxExponent is larger than any exponent that the number of digits can compensate.
const maxExponent = 1 << 50

// parseExponent parses an exponent of any length.
func parseExponent(text []byte) int {
	sign := 1
	switch text[0] {
	case '-':
		sign, text = -1, text[1:]
	case '+':
		text = text[1:]
	}
	n := 0
	for _, c := range text {
		n = min(n*10+int(c-'0'), maxExponent)
	}
	return sign * n
}
