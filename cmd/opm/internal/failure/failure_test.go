package failure_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// File names and texts in catalogs can neither forge lines nor control a terminal.
func TestPrint(t *testing.T) {
	at := &declcfg.Error{Pos: declcfg.Pos{File: "a\n\x1b[1m.yaml", Line: 2, Column: 3}, Err: errors.New("odd\n\x1b[2m")}
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "Error: plain\n"},
		{errors.New("open a\x1b[1m\u202eb: no\nsuch file"), "Error: open a\\x1b[1m\\u202eb: no\n  such file\n"},
		{at, "a\\n\\x1b[1m.yaml:2:3: error: odd \\x1b[2m\nError: odd \\x1b[2m (a\\n\\x1b[1m.yaml:2:3)\n"},
		{errors.Join(errors.New("a\nb"), at), "opm: error: a\n  b\na\\n\\x1b[1m.yaml:2:3: error: odd \\x1b[2m\n" +
			"Error: a (the first of 2 errors)\n  b\n"},
		{fmt.Errorf("read: %w", errors.Join(errors.New("a"), errors.New("Error: b"))), "Error: read: a\n  Error: b\n"},
		{many(1000), strings.Repeat("opm: error: a\n", 1000) + "Error: a (the first of 1,000 errors)\n"},
		{errors.Join(many(600), many(402)), strings.Repeat("opm: error: a\n", 1000) +
			"Error: a (the first of 1,002 errors)\nopm: 2 more errors not printed\n"},
		{&failure.Error{Reason: "one\ntwo", After: "opm: counts\n"}, "Error: one\n  two\nopm: counts\n"},
		{failure.New(""), ""},
		{cmdline.Errorf("flag"), "Error: flag\nusage: opm COMMAND\nSee \"opm --help\".\n"},
	} {
		var out strings.Builder
		failure.Print(&out, &cobra.Command{Use: "opm COMMAND"}, test.err, func(error) string { return "" })
		if got := out.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func many(n int) error { return errors.Join(slices.Repeat([]error{errors.New("a")}, n)...) }

func TestStatus(t *testing.T) {
	err := failure.WithStatus(errors.Join(errors.New("a"), errors.New("b")), 2)
	if n, status := len(failure.Flatten(err)), failure.Status(err); n != 2 || status != 2 {
		t.Errorf("got %d errors and status %d, want 2 and 2", n, status)
	}
	if status := failure.Status(errors.New("a")); status != 1 {
		t.Errorf("got status %d, want 1", status)
	}
}
