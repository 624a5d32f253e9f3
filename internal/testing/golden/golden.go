// Package golden compares the output of tests with golden files, and says how to repeat a test that failed. "go test
// -update" writes the files instead:
//
//	golden.Compare(t, "testdata/roles.golden", got)
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

// Update is the flag -update, for tests that also write other files.
var Update = flag.Bool("update", false, "write the expected output")

// Compare reports an error if the golden file does not have this content: the difference, and the command that writes
// the file. The file name has slashes and is relative to the directory of the test.
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
	Equal(t, file, want, []byte(got))
}

// Equal is Compare for a part of a golden file, such as a row of a table or the output of a command in a page. With
// -update the caller writes the file.
func Equal[T string | []byte](t testing.TB, name string, want, got T) {
	t.Helper()
	if string(got) != string(want) && !*Update {
		t.Errorf("%sIf this is right: %s -update", diff.Diff(name, []byte(want), "got", []byte(got)), Command(t))
	}
}

// Repeat logs the command that repeats a test, if the test has failed when it ends.
func Repeat(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("Repeat it with: %s", Command(t))
		}
	})
}

// Command returns the command that runs a test alone, in the root of the repository.
func Command(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := dir
	for parent := dir; parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
		if _, err := os.Stat(filepath.Join(parent, "go.mod")); err == nil {
			root = parent // maybe of a module in another one
		}
	}
	if dir, err = filepath.Rel(root, dir); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(t.Name(), "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return fmt.Sprintf("go -C %s test -run '%s'", filepath.ToSlash(dir), strings.Join(names, "/"))
}
