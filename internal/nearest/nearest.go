// Package nearest finds the name that a user probably meant.
//
//	fmt.Errorf("no package %q%s", name, nearest.Hint(name, names)) // no package "ectd" (did you mean "etcd"?)
package nearest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
)

// Hint returns ` (did you mean "NAME"?)`, with the [Name] among names, or "" if there is none. If one of the two has
// white space, the hint describes it: ` (it ends in a space; did you mean "NAME"?)`.
func Hint(name string, names []string) string {
	found := legible.WhiteSpace(name, "")
	n := Name(legible.WithoutWhiteSpace(name), names)
	if n == "" {
		n = Name(name, names)
	}
	if n == "" {
		return ""
	}
	switch meant := legible.WhiteSpace(n, ""); {
	case found != "" && meant == "":
		return fmt.Sprintf(" (%s; did you mean %q?)", found, n)
	case found == "" && meant != "":
		return fmt.Sprintf(" (did you mean %q? %s)", n, meant)
	}
	return fmt.Sprintf(" (did you mean %q?)", n)
}

// maxLength is the maximum length in bytes of a name to search for. No valid name is longer; comparing two names takes
// time proportional to the product of their lengths.
const maxLength = 512

// Name returns the element of names that needs the fewest edits to get from name to it, with at most one edit for every
// three bytes of name, but at least one. If there is none, it returns the shortest element that begins with name, or
// "". Of several equally near elements it returns the first in alphabetical order. The order of names does not matter.
// For a name of more than 512 bytes it returns "".
func Name(name string, names []string) string {
	if len(name) > maxLength {
		return ""
	}
	if n := Within(max(1, len(name)/3), name, names); n != "" || name == "" {
		return n
	}
	best := ""
	for _, n := range names {
		if strings.HasPrefix(n, name) && (best == "" || cmp.Or(cmp.Compare(len(n), len(best)), cmp.Compare(n, best)) < 0) {
			best = n
		}
	}
	return best
}

// Within returns the element of names that needs the fewest edits to get from name to it, at most this number of edits,
// or "". Of several equally near elements it returns the first in alphabetical order. For a name of more than 512 bytes
// it returns "".
func Within(edits int, name string, names []string) string {
	if len(name) > maxLength {
		return ""
	}
	best, least := "", 1+edits
	for _, n := range names {
		if longer := len(n) - len(name); max(longer, -longer) > least {
			continue
		}
		if d := distance(name, n); d < least || d == least && best != "" && n < best {
			best, least = n, d
		}
	}
	return best
}

// maxCompared is the maximum number of names that a Finder compares: hints for ten thousand problems are not worth a
// second of time.
const maxCompared = 100_000

// A Finder returns hints until it has compared too many names, to limit the time. After that it returns none. It must
// not be used concurrently. The zero value is ready to use.
type Finder struct{ compared int }

// Hint returns the result of [Hint], or "" after the limit. A name longer than 64 bytes counts as several names, by its
// length.
func (f *Finder) Hint(name string, names []string) string {
	times := max(1, len(name)/64)
	if f.compared += len(names) * times * times; f.compared > maxCompared {
		return ""
	}
	return Hint(name, names)
}

// distance returns the minimum number of letters to insert, remove, replace or swap with their neighbour to change a to
// b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
