package skim

import (
	"strings"
	"unicode"
)

// Fold returns the case-folded form of s, which is equal for strings that differ only in case. It uses the simple
// Unicode folding with which encoding/json matches names.
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 || 'A' <= s[i] && s[i] <= 'Z' {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}
