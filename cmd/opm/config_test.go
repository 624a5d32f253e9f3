package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/opmyaml"
)

// repeated returns a text with a line for each of n numbers.
func repeated(n int, line string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, line+"\n", i)
	}
	return text.String()
}

// TestConfigLimits checks the limits of opm.yaml, which may be part of an untrusted change. Of very many problems, the
// first ones are always the same.
func TestConfigLimits(t *testing.T) {
	for _, tt := range []struct{ name, text, first, last string }{
		{"unknown rules", "rules:\n" + repeated(3000, "  skip-only-%04d: off"),
			`opm.yaml:2:19: error: rules.skip-only-0000: unknown rule "skip-only-0000"`,
			`opm.yaml:1001:19: error: 2,000 more problems of the file are not reported`},
		{"unknown rules of packages", "packages:\n" + repeated(1001, "  p%04d: {rules: {no-rule: off}}"),
			`opm.yaml:2:28: error: packages.p0000.rules.no-rule: unknown rule "no-rule"`,
			`opm.yaml:1001:28: error: 1 more problem of the file is not reported`},
		{"unknown levels", "rules:\n" + repeated(3000, "  r%d: x"),
			`opm.yaml:2:7: error: rules.r0: unknown level`, `2,000 more problems of the file are not reported`},
		{"repeated keys", repeated(3000, "rules: {} # %d"),
			`opm.yaml:2:1: error: key "rules" is already defined at opm.yaml:1:1`,
			`opm.yaml:1001:1: error: 1,999 more problems of the file are not reported`},
		{"long pattern", "policy: {channelNames: '" + strings.Repeat("(a|b)?", 700) + "'}\n",
			"", "opm.yaml:1:24: error: policy.channelNames: a pattern of 4200 bytes, want at most 4096\n"},
		{"pattern with repetitions", "policy: {channelNames: '((a{100}){10}){11}'}\n",
			"", "opm.yaml:1:24: error: policy.channelNames: error parsing regexp: invalid repeat count: `{11}`\n"},
		{"long program", "policy: {channelNames: '" + strings.Repeat("a{1000}", 11) + "'}\n",
			"", "opm.yaml:1:24: error: policy.channelNames: the pattern has 11002 parts with all repetitions, want at most 10000\n"},
		{"registries", "policy:\n  registries:\n" + repeated(1001, "  - r%d.example"),
			"", "opm.yaml:3:3: error: policy.registries: 1,001 registries, want at most 1,000\n"},
		{"size", strings.Repeat("# ", 2<<20) + "\n", "", "Error: read config: opm.yaml: the file is too large: at most 4 MB are read\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, opmyaml.Name), []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte("schema: olm.package\nname: p\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			got := opm(t, dir, "validate c.yaml")
			if got.code != 1 || !strings.HasPrefix(got.stderr, tt.first) || !strings.Contains(got.stderr, tt.last) {
				t.Errorf("exit status %d, %d lines, want %q first and then %q:\n%.2000s", got.code,
					strings.Count(got.stderr, "\n"), tt.first, tt.last, got.stderr)
			}
		})
	}
}
