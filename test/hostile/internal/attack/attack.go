// Package attack has what attacks on opm share: limits, and catalogs that take long to read.
package attack

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// MB is a megabyte.
const MB = 1_000_000

// FewBytes is the maximum memory of opm for input that it must not keep in memory. Without any input it takes about 65
// MB.
const FewBytes = 180 << 20

// TooLong is the maximum processor time of opm for malicious input.
const TooLong = 30 * time.Second

// Digest is a digest.
const Digest = "sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef"

// Package writes package p.
func Package(w *bufio.Writer) {
	fmt.Fprintln(w, `{"schema": "olm.package", "name": "p", "defaultChannel": "c0"}`)
}

// Channel writes a channel with the entries between brackets.
func Channel(w *bufio.Writer, name string, entries func()) {
	fmt.Fprintf(w, `{"schema": "olm.channel", "package": "p", "name": %q, "entries": [`, name)
	entries()
	fmt.Fprintln(w, "]}")
}

// Chain writes a channel of bundles b0, b1 ... each of which replaces the one before.
func Chain(w *bufio.Writer, n int, skipRange string) {
	Channel(w, "c0", func() {
		fmt.Fprintf(w, `{"name": "b0"%s}`, skipRange)
		for i := 1; i < n; i++ {
			fmt.Fprintf(w, `, {"name": "b%d", "replaces": "b%d"}`, i, i-1)
		}
	})
}

// Bundle writes a bundle of p. Text of properties begins with a comma.
func Bundle(w *bufio.Writer, name, version, properties string) {
	fmt.Fprintf(w, `{"schema": "olm.bundle", "package": "p", "name": %q, "image": "r.example/b@%s", "properties": [`+
		`{"type": "olm.package", "value": {"packageName": "p", "version": %q}}, `+
		`{"type": "olm.csv.metadata", "value": {}}%s]}`+"\n", name, Digest, version, properties)
}

// Rules writes bundles with a CEL rule each.
func Rules(w *bufio.Writer, n int, rule func(i int) string) {
	Package(w)
	Chain(w, n, "")
	for i := range n {
		Bundle(w, fmt.Sprint("b", i), fmt.Sprint("1.0.", i),
			fmt.Sprintf(`, {"type": "olm.constraint", "value": {"failureMessage": "m", "cel": {"rule": %q}}}`, rule(i)))
	}
}

// Write writes a file.
func Write(t *testing.T, name string, write func(w *bufio.Writer)) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// BigCatalog unpacks the catalog of 194 MB, and returns its directory.
func BigCatalog(t *testing.T) string {
	t.Helper()
	archive := shared.Path(t, "data/big-catalog.tar.xz")
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xJf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", archive, err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		return dir
	}
	return filepath.Join(dir, entries[0].Name())
}
