package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
)

// modeTests are the commands with modes. Of each mode there is a command line, and of each flag of the mode a line
// whose output must change with it. An empty line stands for the line of the mode, and DIR for a new directory.
var modeTests = map[string]struct {
	modes cmdline.Modes
	lines map[string]string
	flags map[string]string // by mode and flag, or by flag; values follow "=", and other arguments replace the line
}{
	"resolve": {resolveModes, map[string]string{
		"": "catalog --package kiln", "all": "catalog --all", "state": "--state cluster.yaml --catalog crafts=catalog",
		"rules": "--rules",
	}, map[string]string{
		"package": "=kiln", "channel": "=legacy", "version": "=<1.1.0", "starting": "=kiln.v1.0.0",
		"watch-namespace": "=Not-Valid", "installed": "=kiln.v1.0.0", "path": "", "olm": "=v1", "solver-timeout": "=1ns", "info": "", "disable": "=catalog-priority",
		"warnings-as-errors": "", "config": "=DIR/none", "baseline": "=DIR/none", "write-baseline": "", "catalog": "=crafts=",
		"catalog-priority": "=nosuch=5", "catalog-down": "=crafts", "global-namespace": "=elsewhere", "single-own-namespace": "", "output": "=yaml",
		"all package": "=loom", "each": "=catalog/kiln", "all disable": "=nonsense", "state catalog": "=crafts2=catalog",
		"save": "=DIR/saved.json", "namespace": "=pottery",
	}},
	"updates": {updatesModes, map[string]string{
		"": "catalog --package kiln --channel stable", "across": "--across v4.18=catalog v4.19=catalog/loom", "rules": "--rules",
	}, map[string]string{
		"package": "=loom", "channel": "=legacy", "no-channel": "", "from": "=kiln.v1.0.0", "all": "", "stranded": "", "olm": "=v1",
		"differs": "", "explain": "", "simulate": "", "v1-version": "=<1.1.0", "v1-self-certified": "", "keep-going": "",
		"each": "=catalog", "installed": "=kiln.v1.0.0", "info": "", "disable": "=platform-package", "warnings-as-errors": "",
		"config": "=DIR/none", "baseline": "=DIR/none", "write-baseline": "", "output": "=json",
	}},
	"permissions": {permissionsModes, map[string]string{
		"": "cluster.yaml --catalog crafts=catalog", "check-operatorgroup": "cluster.yaml --check-operatorgroup operatorgroup.yaml",
	}, map[string]string{
		"catalog": "=more=catalog", "output": "=json", "save": "=DIR/saved.json", "namespace": "=pottery",
	}},
	"simulate": {simulateModes, map[string]string{
		"": "cluster.yaml --catalog crafts=catalog", "check-operatorgroup": "cluster.yaml --check-operatorgroup operatorgroup.yaml",
		"who-can-what": "cluster.yaml --who-can-what --catalog crafts=catalog",
	}, map[string]string{
		"catalog": "=more=catalog", "catalog-priority": "=nosuch=5", "catalog-down": "=crafts", "global-namespace": "=elsewhere",
		"single-own-namespace": "", "approve": "", "fail": "=kiln.v1.2.0", "fail-unpack": "=kiln.v1.2.0", "target": "=ocp=4.18",
		"steps": "=1", "solver-timeout": "=1ns", "diff": "", "write": "=DIR", "output": "=json",
		"save": "=DIR/saved.json", "namespace": "=pottery",
	}},
}

// TestModes runs each mode of a command with each of its flags, and checks that the flag changes the output or is
// refused.
func TestModes(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range modeTests {
		cmd, _, err := rootCmd(nil, "").Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for mode, line := range test.lines {
			before := opm(t, examples, name+" "+line)
			if strings.Contains(before.stderr, "\nusage: ") {
				t.Fatalf("opm %s %s: %s", name, line, before.stderr)
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				// Flags of registries have annotations. No example has objects that are large enough for the limit.
				if f.Name == mode || f.Hidden || len(f.Annotations) > 0 || slices.Contains([]string{"help", "max-object-size"}, f.Name) {
					return
				}
				value, ok := test.flags[mode+" "+f.Name]
				if !ok {
					value, ok = test.flags[f.Name]
				}
				_, isMode := test.modes[f.Name]
				if !ok && !isMode {
					t.Errorf("opm %s --%s: no value", name, f.Name)
				}
				if isMode && f.Value.Type() != "bool" {
					value = "=cluster.yaml"
				}
				value = strings.ReplaceAll(value, "DIR", filepath.Join(t.TempDir(), "new"))
				got := opm(t, examples, name+" "+line+" --"+f.Name+value)
				refused := strings.Contains(got.stderr, "cannot be combined") || strings.Contains(got.stderr, " needs --")
				users, isExcluded := test.modes.Users(f.Name), false
				for one, other := range cmdline.Exclusions(cmd) {
					isExcluded = isExcluded || one == mode && other == f.Name
				}
				switch isUsed := users == nil && !isMode && !isExcluded || slices.Contains(users, mode); {
				case isUsed && (refused || got == before):
					t.Errorf("opm %s %s --%s%s does nothing: %s", name, line, f.Name, value, got.stderr)
				case !isUsed && !refused:
					t.Errorf("opm %s %s --%s%s is not refused: %s", name, line, f.Name, value, got.stderr)
				}
			})
		}
	}
}
