package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

func TestPublishedCatalogs(t *testing.T) {
	for _, name := range shared.Sample([]string{"v4.12", "v4.20"}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := shared.Path(t, "data/catalogs/"+name)
			if got := opm(t, ".", "validate "+dir); got.code != 0 || got.stdout != "" {
				t.Errorf("opm validate: exit code %d, standard output %q\n%s", got.code, got.stdout, got.stderr)
			}
			for _, format := range []string{"json", "yaml"} {
				testRoundTrip(t, dir, format)
			}
		})
	}
}

// testRoundTrip checks that a second run of render prints the same, and that rendering its output does not change it.
func testRoundTrip(t *testing.T, dir, format string) {
	t.Helper()
	first := opm(t, ".", "render "+dir+" -o "+format)
	if first.code != 0 || first.stdout == "" {
		t.Fatalf("opm render: exit code %d\n%s", first.code, first.stderr)
	}
	if opm(t, ".", "render "+dir+" -o "+format) != first {
		t.Errorf("a second run prints other %s", format)
	}
	tmp := t.TempDir()
	if err := os.WriteFile(filepath.Join(tmp, "catalog"), []byte(first.stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	if opm(t, tmp, "render catalog -o "+format) != first {
		t.Errorf("rendered again, the %s is not the same", format)
	}
}

// TestBrokenExample checks that the example of a bad catalog has five problems: it has five mistakes in three files,
// one of which cannot be parsed.
func TestBrokenExample(t *testing.T) {
	got := opm(t, examples, "validate broken")
	var places []string
	for line := range strings.Lines(got.stderr) {
		place, _, _ := strings.Cut(line, ": ")
		places = append(places, place)
	}
	want := []string{
		"broken/sieve/bundles.yaml:6:8",
		"broken/sieve/bundles.yaml:25:14",
		"broken/sieve/channels.yaml:15:14",
		"broken/sieve/channels.yaml:22:3",
		"broken/sieve/deprecations.yaml:6:1",
		"Error",
	}
	if got.code != 1 || !slices.Equal(places, want) {
		t.Errorf("exit code %d, problems at %q, want %q\n%s", got.code, places, want, got.stderr)
	}
}

// TestManyProblems checks that all problems and their number are printed even if there are many.
func TestManyProblems(t *testing.T) {
	dir := t.TempDir()
	var catalog strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&catalog, "---\nschema: example.com/any\nname: [%d]\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(catalog.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	got := opm(t, dir, "validate c.yaml")
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if got.code != 1 || len(lines) != 10_002 {
		t.Fatalf("exit code %d, %d lines", got.code, len(lines))
	}
	last := "c.yaml:30000:7: error: name must be a string, found a list [read]"
	if summary := "opm: 10,000 errors and 0 warnings in 1 file"; lines[9_999] != last || lines[10_001] != summary {
		t.Errorf("got the last lines\n%s\n%s\nwant\n%s\n%s", lines[9_999], lines[10_001], last, summary)
	}
}
