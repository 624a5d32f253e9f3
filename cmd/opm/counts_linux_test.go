//go:build !race

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestCounts counts operations of commands on a published catalog and on its bundles, and fails if a count is 10 %
// higher than in testdata/counts.txt. The counts are nearly the same on every machine and under any load, unlike times
// and allocated bytes, which depend on the state of pools. With -update, the new counts are written to the file.
func TestCounts(t *testing.T) {
	shared.OnlyFull(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // workers, of which each makes a checker of its own
	catalog := shared.Path(t, "data/catalogs/v4.20")
	bundles := shared.Glob(t, "data/operators/*/*")
	known := readCounts(t)
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "COMMAND\t"+strings.Join(countsColumns[:], "\t"))
	for _, line := range []string{
		"validate CATALOG", "render CATALOG", "render CATALOG -o yaml", "render CATALOG --migrate", "render BUNDLES",
		"list packages CATALOG", "updates CATALOG",
		"diff CATALOG CATALOG", //nolint:dupword // two catalogs
		"serve CATALOG --cache-only --cache-dir DIR",
	} {
		args := func() (args []string) {
			for word := range strings.FieldsSeq(line) {
				switch word {
				case "CATALOG":
					args = append(args, catalog)
				case "BUNDLES":
					args = append(args, bundles...)
				case "DIR":
					args = append(args, t.TempDir())
				default:
					args = append(args, word)
				}
			}
			return args
		}
		runInProcess(t, args()) // what is done once for the process
		got := count(t, func() { runInProcess(t, args()) })
		for i, limit := range known[line] {
			if got[i] > limit+limit/10 && !*update {
				t.Errorf("opm %s: %s: %d, more than a tenth above %d", line, countsColumns[i], got[i], limit)
			}
		}
		fmt.Fprint(out, line)
		for _, n := range got {
			fmt.Fprintf(out, "\t%d", n)
		}
		fmt.Fprintln(out)
	}
	out.Flush()
	golden.Repeat(t) // with -update if the counts are right
	t.Log("\n" + table.String())
	if *update {
		if err := os.WriteFile(countsFile, []byte(table.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	countsFile    = filepath.Join("testdata", "counts.txt")
	countsColumns = [...]string{"ALLOCATIONS", "KB READ", "READS"}
)

// counts are the counted operations of a command, in the order of countsColumns.
type counts [len(countsColumns)]int

// readCounts returns the counts in the file, by command.
func readCounts(t *testing.T) map[string]counts {
	t.Helper()
	text, err := os.ReadFile(countsFile)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]counts{}
	for line := range strings.Lines(string(text)) {
		command, rest, _ := strings.Cut(line, "  ")
		var c counts
		if n, _ := fmt.Sscan(rest, &c[0], &c[1], &c[2]); n == len(c) { // unlike the heading
			known[command] = c
		}
	}
	return known
}

// runInProcess runs opm in the process of the test and discards its output.
func runInProcess(t *testing.T, args []string) {
	t.Helper()
	var stderr bytes.Buffer
	if status := run(t.Context(), call{args: args, stdout: io.Discard, stderr: &stderr}); status != 0 {
		t.Fatal(stderr.String())
	}
}

// count returns the counts of one call of a function.
func count(t *testing.T, f func()) counts {
	t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	bytesBefore, readsBefore := reads(t)
	f()
	runtime.ReadMemStats(&after)
	bytesAfter, readsAfter := reads(t)
	return counts{
		int(after.Mallocs - before.Mallocs), (bytesAfter - bytesBefore) / 1000, readsAfter - readsBefore,
	}
}

// reads returns the number of bytes that the process has read, and the number of its read system calls.
func reads(t *testing.T) (bytes, calls int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d\nsyscr: %d", &bytes, new(int), &calls); err != nil {
		t.Fatal(err)
	}
	return bytes, calls
}
