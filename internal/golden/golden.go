// Package golden compares the output of tests with golden files. "go test -update" writes the files instead:
//
//	golden.Compare(t, "testdata/roles.golden", got)
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Update is the flag -update, for tests that also write other files.
var Update = flag.Bool("update", false, "write the expected output")

// Compare reports an error if the golden file does not have this content. The file name has slashes and is relative to
// the directory of the test.
func Compare[T string | []byte](t testing.TB, file string, got T) {
	t.Helper()
	file = filepath.FromSlash(file)
	if *Update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs: got\n%s\nwant\n%s", file, got, want)
	}
}
