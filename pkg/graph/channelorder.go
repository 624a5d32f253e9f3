package graph

import (
	"cmp"
	"strings"
)

// CompareChannels orders channel names naturally: digits compare as numbers, so stable-3.6 sorts before stable-3.17. It
// returns 0 for equal names only.
func CompareChannels(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var c int
		m, n := leadingDigits(x), leadingDigits(y)
		if m != "" && n != "" {
			c, x, y = compareDigits(m, n), x[len(m):], y[len(n):]
		} else {
			c, x, y = cmp.Compare(x[0], y[0]), x[1:], y[1:]
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// leadingDigits returns the leading decimal digits of s.
func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// compareDigits compares decimal numbers of any length.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
