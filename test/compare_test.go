package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestCompareWithUpstream checks the script for users of upstream's opm, which compares it with ours. A stand-in takes
// the place of upstream's opm.
func TestCompareWithUpstream(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	cases := []struct{ name, standIn, differs string }{
		{"itself", `exec opm "$@"`, ""},
		{"other messages", `opm "$@"; code=$?; echo warning >&2; exit $code`, ""},
		{"other output", `case $* in *channels*) echo kiln ;; *) exec opm "$@" ;; esac`, "opm alpha list channels catalog"},
		{"other status", `opm "$@"; case $1 in validate) exit 3 ;; esac`, "opm validate catalog"},
		{"other files", `opm "$@"; case $1 in migrate) mv migrated/kiln migrated/klin ;; esac`, "opm migrate catalog migrated"},
	}
	for _, tt := range shared.Sample(cases, 1) {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			standIn := filepath.Join(dir, "opm")
			if err := os.WriteFile(standIn, []byte("#!/bin/sh\n"+tt.standIn+"\n"), 0o777); err != nil {
				t.Fatal(err)
			}
			tmp := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "../scripts/compare-with-upstream.sh", standIn, "opm", "../examples/catalog")
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			out, err := cmd.CombinedOutput()
			if failed := err != nil; failed != (tt.differs != "") || strings.Count(string(out), "\n") != 9 {
				t.Fatalf("%v\n%s", err, out)
			}
			var differs string
			for line := range strings.Lines(string(out)) {
				if after, ok := strings.CutPrefix(line, "differs  "); ok {
					differs += after
				}
			}
			command, file, _ := strings.Cut(strings.TrimSpace(differs), ": see ")
			if command != tt.differs {
				t.Errorf("%q differs, want %q\n%s", command, tt.differs, out)
			}
			if tt.differs == "" {
				if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
					t.Errorf("left %v, %v", left, err)
				}
			} else if diff, err := os.ReadFile(file); err != nil || len(diff) == 0 {
				t.Errorf("the differences are %q, %v", diff, err)
			}
		})
	}
}
