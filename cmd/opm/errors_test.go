package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Names of files and what catalogs hold can neither forge lines nor speak to a terminal.
func TestPrintError(t *testing.T) {
	at := &declcfg.Error{Pos: declcfg.Pos{File: "a\n\x1b[1m.yaml", Line: 2, Column: 3}, Err: errors.New("odd\n\x1b[2m")}
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "opm: plain\n"},
		{errors.New("open a\x1b[1m\u202eb: no\nsuch file"), "opm: open a\\x1b[1m\\u202eb: no\n  such file\n"},
		{at, "a\\n\\x1b[1m.yaml:2:3: error: odd \\x1b[2m\n"},
		{errors.Join(at, errors.New("a")), "a\\n\\x1b[1m.yaml:2:3: error: odd \\x1b[2m\nopm: a\n"},
		{fmt.Errorf("read: %w", errors.Join(errors.New("a"), errors.New("opm: b"))), "opm: read: a\n  opm: b\n"},
		{many(1000), strings.Repeat("opm: a\n", 1000)},
		{errors.Join(many(600), many(402)), strings.Repeat("opm: a\n", 1000) + "opm: 2 more errors not printed\n"},
	} {
		var out strings.Builder
		printError(&out, rootCmd(), test.err)
		if got := out.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func many(n int) error { return errors.Join(slices.Repeat([]error{errors.New("a")}, n)...) }
