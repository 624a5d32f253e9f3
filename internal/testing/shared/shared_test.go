package shared

import (
	"cmp"
	"os"
	"slices"
	"testing"
)

// A recorder is a test that continues after a failure or skip, and records it.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper()               {}
func (r *recorder) Skipf(string, ...any)  { r.end = cmp.Or(r.end, "skipped") }
func (r *recorder) Fatalf(string, ...any) { r.end = cmp.Or(r.end, "failed") }

func TestMissing(t *testing.T) {
	full := "failed"
	if _, err := os.Stat(dir(t)); err != nil {
		full = "skipped"
	}
	for value, want := range map[string]string{"": "skipped", "full": full} {
		t.Setenv(variable, value)
		path, glob := &recorder{TB: t}, &recorder{TB: t}
		Path(path, "data/none")
		Glob(glob, "data/none/*")
		if path.end != want || glob.end != want {
			t.Errorf("with %s=%s, tests are %q and %q, want %s", variable, value, path.end, glob.end, want)
		}
	}
}

func TestSample(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv(variable, "")
	if got, want := Sample(list, 4), []int{0, 2, 5, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Sample(list[:3], 4); !slices.Equal(got, list[:3]) {
		t.Errorf("of a short list: got %v", got)
	}
	t.Setenv(variable, "full")
	if got := Sample(list, 4); !slices.Equal(got, list) {
		t.Errorf("in full: got %v", got)
	}
}
