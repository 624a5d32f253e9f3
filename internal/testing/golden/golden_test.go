package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A recorder is a test that records its failures.
type recorder struct {
	testing.TB
	name, failure string
}

func (r *recorder) Name() string                      { return r.name }
func (r *recorder) Errorf(format string, args ...any) { r.failure += fmt.Sprintf(format, args...) }

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.golden")
	if err := os.WriteFile(file, []byte("a\nb\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t, name: "TestX/a_(b)"}
	Compare(r, file, "a\nb\n")
	if r.failure != "" {
		t.Errorf("equal: got %s", r.failure)
	}
	Compare(r, file, "a\nc\n")
	want := "diff " + file + " got\n--- " + file + "\n+++ got\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n" +
		`If this is right: go -C internal/testing/golden test -run '^TestX$/^a_\(b\)$' -update`
	if r.failure != want {
		t.Errorf("got\n%s\nwant\n%s", r.failure, want)
	}
}
