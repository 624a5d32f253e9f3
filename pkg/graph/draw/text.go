package draw

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// The sizes of text, in px.
const (
	headingSize = 18
	laneSize    = 14
	labelSize   = 13
	smallSize   = 11
)

// bold is the ratio of the widths of bold and regular text.
const bold = 1.13

// widths are the widths of characters in thousandths of the text size, from a wide font (DejaVu Sans); other fonts are
// narrower. See width for other characters.
var widths = map[string]float64{
	"'Iijl|":              320,
	" !,.:;()[]/\\\"`-ft": 400,
	"*^_rsz":              530,
	"bdghnopqu0123456789": 640,
	"ABCDEFGHKLPRSTUVXYZ": 720,
	"+<=>~#$&NOQMw":       870,
	"@W%m\u2026\u2014":    1010,
	"\u200d\ufe0e\ufe0f":  0,
}

var widthOf = func() map[rune]float64 {
	m := map[rune]float64{}
	for chars, w := range widths {
		for _, c := range chars {
			m[c] = w
		}
	}
	return m
}()

// width returns the maximum width of a text, in px.
func width(text string, size float64) int {
	sum := 0.0
	for _, c := range text {
		w, ok := widthOf[c]
		switch {
		case ok:
			sum += w
		case unicode.Is(unicode.Mn, c):
		case c >= 0x1100:
			sum += 1400 // emoji
		default:
			sum += 640
		}
	}
	return int(math.Ceil(sum * size / 1000))
}

// elide shortens a text to a width in px. It removes the middle, since versions are at the end.
func elide(text string, size float64, limit int) string {
	if width(text, size) <= limit {
		return text
	}
	runes := []rune(text)
	for keep := min(len(runes)-1, limit); keep > 1; keep-- {
		head := keep / 3
		short := string(runes[:head]) + "…" + string(runes[len(runes)-(keep-head):])
		if width(short, size) <= limit {
			return short
		}
	}
	return "…"
}

// oneLine returns a text with each run of white space replaced by a space, and each character that is invalid in XML
// by U+FFFD.
func oneLine(text string) string {
	valid := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, text)
	return strings.Join(strings.Fields(valid), " ")
}

// list returns the first names and the number of others.
func list(names []string) string {
	const most = 6
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + fmt.Sprintf("%d more", len(names)-most)
}

// commonPrefix returns a prefix that more than half of the bundle names have, up to the first dot, such as
// "etcd-operator.". It returns "" if there is none, or for a single bundle.
func commonPrefix(bundles []*graph.Bundle) string {
	seen := map[string]int{}
	for _, b := range bundles {
		if i := strings.Index(b.Name, ".") + 1; i > 0 && i < len(b.Name) {
			prefix := b.Name[:i]
			seen[prefix]++
			if n := seen[prefix]; n > 1 && 2*n > len(bundles) {
				return prefix
			}
		}
	}
	return ""
}
