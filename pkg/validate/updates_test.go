package validate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// updateRules lists the rules about updates of installed bundles.
var updateRules = []string{
	"replaces-and-skips", "update-downgrade", "skips-only", "head-version", "prerelease-winner", "update-classic",
	"update-loop", "z-release", "update-v1", "updates-differ",
}

// updatesOf returns a catalog whose default channel has the entries, with a bundle for each. An entry with ! has a
// deprecated bundle.
func updatesOf(entries ...string) map[string]string {
	var channel, bundles, deprecations strings.Builder
	channel.WriteString("schema: olm.package\nname: p\ndefaultChannel: c\n---\nschema: olm.channel\npackage: p\nname: c\nentries:\n")
	for i, e := range entries {
		version, rest, _ := strings.Cut(e, " ")
		version, deprecated := strings.CutSuffix(version, "!")
		if rest != "" {
			rest = ", " + rest
		}
		fmt.Fprintf(&channel, "- {name: p.v%s%s}\n", version, rest)
		fmt.Fprintf(&bundles, "---\nschema: olm.bundle\npackage: p\nname: p.v%s\nimage: r.example/p@sha256:%064d\nproperties:\n"+
			"- {type: olm.package, value: {packageName: p, version: %[1]s}}\n- {type: olm.csv.metadata, value: {displayName: P}}\n",
			version, i)
		if deprecated {
			fmt.Fprintf(&deprecations, "- {reference: {schema: olm.bundle, name: p.v%s}, message: old}\n", version)
		}
	}
	if deprecations.Len() > 0 {
		channel.WriteString("---\nschema: olm.deprecations\npackage: p\nentries:\n" + deprecations.String())
	}
	return map[string]string{"p.yaml": channel.String() + bundles.String()}
}

func TestUpdates(t *testing.T) {
	rules := append([]string{"skip-range-self"}, updateRules...)
	for _, tt := range []struct {
		name    string
		entries []string
		want    []string // line:column, part of the message, and rule
	}{
		{"a chain", []string{"1.0.0", "1.1.0 replaces: p.v1.0.0", "1.2.0 replaces: p.v1.1.0"}, nil},
		{"one entry", []string{"1.0.0"}, nil},
		{"a skip range to the head", []string{"1.0.0", "1.2.0 replaces: p.v1.0.0, skipRange: '<1.2.0'"}, nil},
		{
			"it replaces and skips the same", []string{"1.0.0", "1.1.0 replaces: p.v1.0.0, skips: [p.v0.9.0, p.v1.0.0]"},
			[]string{
				`10:58: entry "p.v1.1.0" both replaces and skips "p.v1.0.0" [replaces-and-skips]`,
			},
		}, {
			"only skips", []string{"1.0.0", "1.1.0 skips: [p.v1.0.0]"},
			[]string{`9:1: no entry can be reached from the head "p.v1.1.0" by replaces: OLM Classic can install nothing else [skips-only]`},
		}, {
			"a downgrade", []string{"1.2.0", "1.1.0 replaces: p.v1.2.0"},
			[]string{
				`10:3: the head "p.v1.1.0" has version 1.1.0, but "p.v1.2.0" has the higher version 1.2.0, so that OLM v1 does not update to the highest version p.v1.2.0 from p.v1.1.0 (consequences: update-v1, updates-differ) [head-version]`,
			},
		}, {
			"a downgrade on the way", []string{"1.0.0", "1.2.0 replaces: p.v1.0.0", "1.1.0 replaces: p.v1.2.0", "1.3.0 replaces: p.v1.1.0"},
			[]string{
				`11:30: entry "p.v1.1.0" replaces "p.v1.2.0", whose version 1.2.0 is higher than its own, 1.1.0, so that OLM v1 does not update to the highest version p.v1.3.0 from p.v1.0.0, p.v1.2.0 (consequences: update-v1, updates-differ) [update-downgrade]`,
			},
		}, {
			"a skipped link", []string{
				"1.0.0", "1.0.1 skips: [p.v1.0.0]", "1.1.0 replaces: p.v1.0.1, skips: [p.v1.0.1]",
				"1.2.0 replaces: p.v1.1.0, skips: [p.v1.1.0]",
			},
			[]string{
				`11:48: entry "p.v1.1.0" both replaces and skips "p.v1.0.1" [replaces-and-skips]`,
				`12:48: entry "p.v1.2.0" both replaces and skips "p.v1.1.0" [replaces-and-skips]`,
				`9:1: OLM Classic does not update to the head p.v1.2.0 from p.v1.0.1 (consequences: updates-differ) [update-classic]`,
				`9:1: p.v1.0.0 never reaches p.v1.0.1 (consequences: update-classic, updates-differ) [z-release]`,
			},
		}, {
			"a loop of two", []string{"1.0.0 skipRange: 1.1.0", "1.1.0 replaces: p.v1.0.0"},
			[]string{
				`9:1: OLM Classic never stops updating from p.v1.0.0, p.v1.1.0 (consequences: updates-differ) [update-loop]`,
			},
		}, {
			"a skip range that holds its own version", []string{"1.0.0", "1.1.0 replaces: p.v1.0.0, skipRange: '<=1.1.0'"},
			[]string{`10:51: skipRange "<=1.1.0" of entry "p.v1.1.0" includes its own version 1.1.0 [skip-range-self]`},
		}, {
			"a way through a deprecated bundle", []string{"1.0.0", "1.1.0! replaces: p.v1.0.0", "1.2.0 replaces: p.v1.1.0"},
			[]string{
				`9:1: OLM v1 does not update to the highest version p.v1.2.0 from p.v1.0.0; deprecated in between: p.v1.1.0 (consequences: updates-differ) [update-v1]`,
			},
		}, {
			"a pre-release on top", []string{"1.0.0", "1.1.0-rc.1 replaces: p.v1.0.0"},
			[]string{`10:3: the highest version of the channel is the pre-release 1.1.0-rc.1, which OLM v1 installs although there are releases such as 1.0.0 [prerelease-winner]`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range only(check(t, validate.Options{}, updatesOf(tt.entries...)), rules...) {
				got = append(got, fmt.Sprintf("%d:%d: %s [%s]", p.Pos.Line, p.Pos.Column, p.Message, p.Rule))
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
			}
		})
	}
}

// TestConsequencesAlone checks that a consequence is a problem of its own if its cause is not reported or is less
// severe, or if its rule is made an error.
func TestConsequencesAlone(t *testing.T) {
	files := updatesOf("1.0.0", "1.0.1 skips: [p.v1.0.0]", "1.1.0 replaces: p.v1.0.1, skips: [p.v1.0.1]",
		"1.2.0 replaces: p.v1.1.0, skips: [p.v1.1.0]")
	for _, tt := range []struct {
		opts validate.Options
		want []string
	}{
		{validate.Options{}, []string{
			"p.yaml:9:1 update-classic", "p.yaml:9:1 z-release", "p.yaml:11:48 replaces-and-skips",
			"p.yaml:12:48 replaces-and-skips",
		}},
		{validate.Options{Levels: problem.Disabled("replaces-and-skips")}, []string{"p.yaml:9:1 update-classic", "p.yaml:9:1 z-release"}},
		{validate.Options{Levels: problem.Disabled("replaces-and-skips", "z-release")}, []string{"p.yaml:9:1 update-classic"}},
		{validate.Options{Levels: problem.Levels{Rules: map[string]problem.Severity{
			"replaces-and-skips": problem.Off, "updates-differ": problem.Error,
		}}},
			[]string{"p.yaml:9:1 update-classic", "p.yaml:9:1 z-release", "p.yaml:9:1 updates-differ"}},
	} {
		problems := only(check(t, tt.opts, files), updateRules...)
		expect(t, problems, tt.want...)
		for _, p := range problems {
			if p.Rule == "update-classic" && (!slices.Contains(p.Names, "p.v1.0.1") ||
				slices.Contains(p.Consequences, "updates-differ") == (tt.opts.Levels.Rules["updates-differ"] == problem.Error)) {
				t.Errorf("about %q, with %q: %s", p.Names, p.Consequences, p)
			}
		}
	}
}

// TestUpdatesOfAPercentSign checks that names are not used as format strings.
func TestUpdatesOfAPercentSign(t *testing.T) {
	files := updatesOf("1.0.0", "1.1.0 skips: [p.v1.0.0]", "2.0.0 replaces: p.v1.1.0, skips: [p.v1.1.0]")
	files["p.yaml"] = strings.ReplaceAll(files["p.yaml"], "p.v2.0.0", "p.v%s%d")
	opts := validate.Options{Levels: problem.Disabled("bundle-name-dns")}
	for _, p := range check(t, opts, files) {
		if strings.Contains(p.Message, "%!") || strings.Contains(p.Message, "MISSING") {
			t.Errorf("got %s", p)
		}
	}
}

// TestUpdatesBesideDisabledRules checks that updates are not checked if the package breaks a disabled rule.
func TestUpdatesBesideDisabledRules(t *testing.T) {
	const head = "schema: olm.package\nname: p\ndefaultChannel: c\n---\nschema: olm.channel\npackage: p\nname: c\nentries: "
	for _, entries := range []string{"[]", "7", "[{name: a}, {name: b}]", "[{}]"} {
		opts := validate.Options{Levels: problem.Disabled("channel-entries", "type", "channel-head", "entry-name")}
		for _, p := range check(t, opts, map[string]string{"p.yaml": head + entries + "\n"}) {
			if slices.Contains(updateRules, p.Rule) {
				t.Errorf("entries: %s: %s", entries, p)
			}
		}
	}
}

// TestUpdatesOfABrokenPackage checks that updates are not checked if the package has errors, or if all update rules are
// disabled.
func TestUpdatesOfABrokenPackage(t *testing.T) {
	files := updatesOf("1.2.0", "1.1.0 replaces: p.v1.2.0")
	files["q.yaml"] = "schema: olm.bundle\npackage: p\nname: p.v3\n"
	for _, p := range check(t, validate.Options{}, files) {
		if slices.Contains(updateRules, p.Rule) {
			t.Errorf("beside an error: %s", p)
		}
	}
	delete(files, "q.yaml")
	if got := only(check(t, validate.Options{Levels: problem.Disabled(updateRules...)}, files), updateRules...); len(got) > 0 {
		t.Errorf("disabled: %v", got)
	}
}
