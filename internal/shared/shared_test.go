package shared

import (
	"cmp"
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
	for value, want := range map[string]string{"": "skipped", "1": "failed"} {
		t.Setenv("OPM_REQUIRE_DATA", value)
		path, glob := &recorder{TB: t}, &recorder{TB: t}
		Path(path, "data/none")
		Glob(glob, "data/none/*")
		if path.end != want || glob.end != want {
			t.Errorf("with OPM_REQUIRE_DATA=%s, tests are %q and %q, want %s", value, path.end, glob.end, want)
		}
	}
}
