// Package nearest finds the name that was meant.
//
//	fmt.Errorf("no package %q%s", name, nearest.Hint(name, names)) // no package "ectd" (did you mean "etcd"?)
package nearest

import (
	"fmt"
	"slices"
)

// maxNames bounds how many names are compared: a hint is not worth a second.
const maxNames = 2_000

// Hint returns ` (did you mean "NAME"?)` with the name among names that is nearest to name, or "" where none is near. Of
// several that are equally near it is the first in order of the alphabet.
func Hint(name string, names []string) string {
	if n := Name(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// Name returns the name among names that takes the fewest edits to make out of name, at most a third of its length, or ""
// where there is none.
func Name(name string, names []string) string {
	if len(names) > maxNames {
		return ""
	}
	best, least := "", 1+max(1, len(name)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if abs(len(n)-len(name)) >= least {
			continue
		}
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance returns how many letters must be inserted, removed, replaced or swapped with their neighbour to make b out of
// a (optimal string alignment).
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

func abs(n int) int { return max(n, -n) }
