// Package test tests opm from outside: its conformance with upstream, its pages in a browser, and images in a real
// registry. It is a module of its own because what these tests need is no part of the product.
package test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain builds opm and puts it first on PATH. The cache of go test knows nothing of that: run these tests with
// -count=1 after a change of opm.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "opm-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "opm"), "./cmd/opm")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		panic("build opm: " + string(out))
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	m.Run()
}

// A result is what a run of opm returned.
type result struct {
	stdout, stderr string
	code           int
}

// opm runs opm with stdin as its standard input.
func opm(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "opm", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(stdin), &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// mustOpm returns what opm prints, and fails the test if opm fails.
func mustOpm(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := opm(t, stdin, args...)
	if r.code != 0 {
		t.Fatalf("opm %q: exit status %d: %s", args, r.code, r.stderr)
	}
	return r.stdout
}
