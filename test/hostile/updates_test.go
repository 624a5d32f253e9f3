package hostile

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// TestManyUpdates checks the time and memory to list the updates of 10,000 bundles in 50 channels, each of which
// updates all bundles below its own.
func TestManyUpdates(t *testing.T) {
	const channels, entries = 50, 200
	dir := t.TempDir()
	attack.Write(t, filepath.Join(dir, "c.json"), func(w *bufio.Writer) {
		attack.Package(w)
		for c := range channels {
			attack.Channel(w, fmt.Sprint("c", c), func() {
				fmt.Fprintf(w, `{"name": "v%d.0", "skipRange": "<%[1]d.0.0"}`, c)
				for e := 1; e < entries; e++ {
					fmt.Fprintf(w, `, {"name": "v%d.%d", "replaces": "v%[1]d.%[3]d", "skipRange": "<%[1]d.%[2]d.0"}`, c, e, e-1)
				}
			})
			for e := range entries {
				attack.Bundle(w, fmt.Sprintf("v%d.%d", c, e), fmt.Sprintf("%d.%d.0", c, e), "")
			}
		}
	})
	// What is printed is little: the test would hold it, and a process begins with the memory of the one that starts it.
	for flags, want := range map[string]string{"": "showing 0 of 255,000 rows", "-o json --stranded": "[]"} {
		args := append([]string{"updates", "c.json"}, strings.Fields(flags)...)
		r := program.Call{Args: args, Dir: dir, Limit: attack.TooLong}.Bounded(t, attack.FewBytes)
		if r.Code != 0 || !strings.Contains(r.Stdout+r.Stderr, want) {
			t.Errorf("exit status %d; no %q in %.500s %.500s", r.Code, want, r.Stdout, r.Stderr)
		}
	}
}

// TestGraphTooLarge checks the graph of a package that is too large for browsers.
func TestGraphTooLarge(t *testing.T) {
	const channels, entries = 200, 2_000
	dir := t.TempDir()
	attack.Write(t, filepath.Join(dir, "c.json"), func(w *bufio.Writer) {
		attack.Package(w)
		for c := range channels {
			attack.Channel(w, fmt.Sprint("c", c), func() {
				fmt.Fprint(w, `{"name": "b0"}`)
				for e := 1; e < entries; e++ {
					fmt.Fprintf(w, `, {"name": "b%d", "replaces": "b%d"}`, e, e-1)
				}
			})
		}
	})
	for _, format := range []string{"svg", "html"} {
		call := program.Call{Args: []string{"graph", "c.json", "-o", format}, Dir: dir, Limit: attack.TooLong}
		r := call.Bounded(t, 2*attack.FewBytes)
		want := "the picture has 400,200 bundles and channels"
		if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: exit status %d, %d bytes, stderr %.500s", format, r.Code, len(r.Stdout), r.Stderr)
		}
	}
}

// TestLongSkipRanges checks the time for channels whose skipRanges have 2,000 alternatives each.
func TestLongSkipRanges(t *testing.T) {
	const entries, alternatives = 300, 2_000
	dir := t.TempDir()
	attack.Write(t, filepath.Join(dir, "c.json"), func(w *bufio.Writer) {
		attack.Package(w)
		attack.Channel(w, "c0", func() {
			for e := range entries {
				if e > 0 {
					fmt.Fprint(w, ", ")
				}
				fmt.Fprintf(w, `{"name": "b%d", "replaces": "b%d", "skipRange": "0.0.0`, e, e-1)
				for i := range alternatives {
					fmt.Fprintf(w, " || >=%d.%d.0 <%[1]d.%[2]d.5", e, i)
				}
				fmt.Fprint(w, `"}`)
			}
		})
		for e := range entries {
			attack.Bundle(w, fmt.Sprint("b", e), fmt.Sprintf("%d.0.0", e+1), "")
		}
	})
	for _, args := range []string{"updates c.json", "filter c.json -o images", "resolve c.json --all", "graph c.json -o svg"} {
		r := program.Call{Args: strings.Fields(args), Dir: dir, Limit: attack.TooLong}.Bounded(t, 2*attack.FewBytes)
		if r.Code != 0 {
			t.Errorf("%s: exit status %d, stderr %.500s", args, r.Code, r.Stderr)
		}
		t.Logf("%s: %v, %d MB", args, r.Time, r.RSS/attack.MB)
	}
}
