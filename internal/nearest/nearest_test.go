package nearest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/nearest"
)

func TestName(t *testing.T) {
	names := []string{"staple", "stable", "fast", "candidate-v1"}
	tests := []struct{ name, want string }{
		{"stabel", "stable"}, // swapped letters are one edit
		{"fats", "fast"},
		{"candidate-v2", "candidate-v1"},
		{"stale", "stable"}, // as near as staple, and before it
		{"fast", "fast"},
		{"slow", ""},
		{"xyzstable", "stable"}, // three edits in nine letters
		{"wxyzstable", ""},
		{"", ""},
		{"cand", "candidate-v1"}, // a prefix
		{"sta", "stable"},        // of two: the first of the shortest
	}
	for _, tt := range tests {
		if got := nearest.Name(tt.name, names); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.name, got, tt.want)
		}
		backwards := slices.Clone(names)
		slices.Reverse(backwards)
		if got, again := nearest.Name(tt.name, names), nearest.Name(tt.name, backwards); got != again {
			t.Errorf("Name(%q) depends on the order of the names: %q, %q", tt.name, got, again)
		}
	}
}

func TestHint(t *testing.T) {
	if got, want := nearest.Hint("ectd", []string{"etcd"}), ` (did you mean "etcd"?)`; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"kiln ":      ` (it ends in a space; did you mean "kiln"?)`,
		"kiln\u200b": ` (it ends in a zero-width space (U+200B); did you mean "kiln"?)`,
		"clinker\t":  ` (did you mean "klinker "?)`, // both have white space
		"klinker":    ` (did you mean "klinker "? it ends in a space)`,
		"my loom":    "",
	} {
		if got := nearest.Hint(name, []string{"kiln", "klinker "}); got != want {
			t.Errorf("Hint(%q) = %q, want %q", name, got, want)
		}
	}
	if got := nearest.Hint("ectd", nil); got != "" {
		t.Errorf("Hint without names = %q, want none", got)
	}
}

// A finder gives up rather than comparing every problem of a large catalog with every name.
func TestFinderIsBounded(t *testing.T) {
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("an-operator-with-a-long-name.v1.0.%d", i))
	}
	var f nearest.Finder
	const name = "an-operator-with-a-long-name.v1.0.-1"
	if got, want := f.Hint(name, names), nearest.Hint(name, names); got != want || got == "" {
		t.Errorf("the first hint is %q, want %q", got, want)
	}
	for i := range 10_000 {
		f.Hint(fmt.Sprintf("an-operator-with-a-long-name.v2.0.%d", i), names)
	}
	if got := f.Hint(name, names); got != "" {
		t.Errorf("the last hint is %q, want none", got)
	}
}

// Long names, which only an attacker writes, are not compared: that would take minutes.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	if got := nearest.Name(long, []string{long[1:] + "y"}); got != "" {
		t.Errorf("got a name of %d bytes", len(got))
	}
}
