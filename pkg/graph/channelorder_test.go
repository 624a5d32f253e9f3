package graph

import (
	"slices"
	"testing"
)

func TestCompareChannels(t *testing.T) {
	sorted := []string{
		"", "3.6", "3.17", "3.17-eus", "3.17.1", "4", "alpha", "stable", "stable-3.06", "stable-3.6", "stable-3.17", "stable-v2",
		"stable-v10", "stable-v10.0", "stable-v99999999999999999999", "stable-v100000000000000000000",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := CompareChannels(a, b), min(1, max(-1, i-j)); got != want {
				t.Errorf("compare %q with %q: got %d, want %d", a, b, got, want)
			}
		}
	}
	shuffled := slices.Clone(sorted)
	slices.Sort(shuffled)
	if slices.SortFunc(shuffled, CompareChannels); !slices.Equal(shuffled, sorted) {
		t.Errorf("got %q", shuffled)
	}
}
