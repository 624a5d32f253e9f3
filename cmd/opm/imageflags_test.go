package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/image"
)

// withFlags returns the command render with flags parsed.
func withFlags(t *testing.T, flags string) *cobra.Command {
	t.Helper()
	root := rootCmd(nil, "")
	root.SetErr(io.Discard)
	cmd, args, err := root.Find(append([]string{"render"}, strings.Fields(flags)...))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Flags().SetOutput(io.Discard) // which warns of flags that are deprecated
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestInsecure(t *testing.T) {
	for _, test := range []struct {
		flags       string
		want, fails bool
	}{
		{"", false, false},
		{"--skip-tls", true, false},
		{"--skip-tls=false", false, false},
		{"--use-http", true, false},
		{"--use-http=false", false, false},
		{"--skip-tls-verify", true, false},
		{"--use-http --skip-tls-verify=false", true, false},
		{"--use-http=false --skip-tls-verify", true, false},
		{"--use-http=false --skip-tls-verify=false", false, false},
		{"--use-http --skip-tls-verify", false, true},
		{"--skip-tls=false --use-http", false, true},
		{"--skip-tls --use-http=false", false, true},
		{"--skip-tls=false --use-http=false", false, true},
		{"--skip-tls=false --skip-tls-verify", false, true},
		{"--skip-tls --skip-tls-verify=false", false, true},
		{"--skip-tls=false --skip-tls-verify=false", false, true},
	} {
		got, err := insecureFlags(withFlags(t, test.flags))
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%q: got %v, %v", test.flags, got, err)
		}
	}
}

func TestWarnOfOtherFlag(t *testing.T) {
	bad := errors.New("expired")
	for _, test := range []struct {
		flags  string
		reason error
		want   string
	}{
		{"--use-http", bad, "use --skip-tls-verify for that"},
		{"--use-http", image.ErrPlainHTTP, ""},
		{"--skip-tls-verify", image.ErrPlainHTTP, "use --use-http for that"},
		{"--skip-tls-verify", bad, ""},
		{"--skip-tls", bad, ""},
		{"--skip-tls", image.ErrPlainHTTP, ""},
	} {
		var log bytes.Buffer
		warnOfOtherFlag(withFlags(t, test.flags), slog.New(slog.NewTextHandler(&log, nil)))("q.io", test.reason)
		if got := log.String(); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s, %v: got %q, want %q", test.flags, test.reason, got, test.want)
		}
	}
}
