package hostile

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/program"
)

// TestDeepNames checks the time to render archives of many files in a deep directory: operations that take a step per
// parent directory must not be frequent.
func TestDeepNames(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]string{
		100:  "",
		2039: "nested too deeply: at most 100 directories are allowed",
	} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "catalog.tar.gz")
			writeDeep(t, name, 20_000, depth)
			call := program.Call{Args: []string{"render", name}, Limit: 20 * time.Second} // usually 1 s
			r := call.Bounded(t, 600<<20)
			if r.Stdout != "" || (want == "") != (r.Code == 0) || !strings.Contains(r.Stderr, want) {
				t.Errorf("exit status %d, stdout %.100q, stderr %q", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}

// writeDeep writes an archive of n empty files, each in the same directories.
func writeDeep(t *testing.T, name string, n, depth int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	dir := strings.Repeat("d/", depth)
	for i := range n {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint(dir, i)}))
	}
	if err := errors.Join(err, w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
