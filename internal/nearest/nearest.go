// Package nearest finds the name that was meant.
//
//	fmt.Errorf("no package %q%s", name, nearest.Hint(name, names)) // no package "ectd" (did you mean "etcd"?)
package nearest

import (
	"cmp"
	"fmt"
	"strings"
)

// Hint returns ` (did you mean "NAME"?)` with the [Name] among names, or "" if there is none.
func Hint(name string, names []string) string {
	if n := Name(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// maxLength is how many bytes a name may have, more than any valid one: comparing two takes the product of their
// lengths.
const maxLength = 512

// Name returns the name among names, which may be in any order, that takes the fewest edits to make out of name, at
// most a third of its length; failing that the shortest one that begins with name, or "". Of several that are equally
// near it is the first in alphabetical order. No name is near to one beyond 512 bytes.
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

// Within returns the name among names that takes the fewest edits to make out of name, at most that many, or "". Of
// several that are equally near it is the first in alphabetical order. No name is near to one beyond 512 bytes.
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
// second.
const maxCompared = 100_000

// A Finder gives hints until it has compared too many names, and then none, to limit the time. It must not be used
// concurrently; the zero value is ready to use.
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
