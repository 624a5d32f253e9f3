// Package test tests opm from outside: its conformance with upstream, its pages in a browser, and images in a real
// registry. It is a module of its own because what these tests need is no part of the product.
package test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) {
	if os.Getenv(envGH) == "" {
		program.Main(m, "..")
	} else if err := gh(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is a program of its own
	}
}

// opm runs opm with stdin as its standard input.
func opm(t *testing.T, stdin string, args ...string) program.Result {
	t.Helper()
	return program.Call{Args: args, Stdin: strings.NewReader(stdin)}.Run(t)
}

// mustOpm returns what opm prints, and fails the test if opm fails.
func mustOpm(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := opm(t, stdin, args...)
	if r.Code != 0 {
		t.Fatalf("opm %q: exit status %d: %s", args, r.Code, r.Stderr)
	}
	return r.Stdout
}
