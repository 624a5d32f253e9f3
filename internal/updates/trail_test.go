package updates

import (
	"slices"
	"testing"
)

func TestTrail(t *testing.T) {
	var trail Trail
	for _, state := range []string{"a", "b", "c"} {
		if loop := trail.Loop(state); loop != nil {
			t.Errorf("%s closes %q", state, loop)
		}
		trail.Add(state)
	}
	if got, want := trail.Loop("b"), []string{"b", "c", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := trail.States(); len(got) != 3 {
		t.Errorf("asking for a loop has changed the trail: %q", got)
	}
}
