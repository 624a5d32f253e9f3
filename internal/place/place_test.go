package place

import (
	"slices"
	"testing"
)

func TestPos(t *testing.T) {
	ordered := []Pos{{"a", 0, 0}, {"a", 2, 0}, {"a", 2, 10}, {"a", 10, 1}, {"b", 1, 1}}
	for i, p := range ordered {
		for j, q := range ordered {
			if got := p.Compare(q); got != sign(i-j) {
				t.Errorf("%v.Compare(%v) = %d", p, q, got)
			}
		}
	}
	var texts []string
	for _, p := range ordered {
		texts = append(texts, p.String())
	}
	if want := []string{"a", "a:2", "a:2:10", "a:10:1", "b:1:1"}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

func sign(n int) int { return min(1, max(-1, n)) }
