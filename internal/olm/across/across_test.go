package across_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/internal/olm/across"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/testing/ruletest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestPlans compares plans with plans derived by hand. A catalog is a list of channels, the default one first, such as
//
//	stable: 1.0.0, 1.1.0 replaces 1.0.0
//
// where the entries are the versions of bundles, followed by their keys. Names such as 1.0.0^4.18 give a bundle an
// olm.maxOpenShiftVersion, and 1.0.0! a dependency. Each catalog is for the version of OpenShift after the one before,
// from 4.18 on.
func TestPlans(t *testing.T) {
	for _, tt := range []struct {
		name     string
		catalogs []string
		want     []string // bundles, channels, versions of OLM unless both, and the text of the plan
	}{
		{"stays", []string{"stable: 1.0.0", "stable: 1.0.0", "stable: 1.0.0"}, []string{
			"1.0.0 stable: upgrade to 4.20",
		}},
		// No entry of 4.19 is 1.0.0. It can be updated before the upgrade, to 1.1.0, and after it.
		{"update first", []string{"stable: 1.0.0, 1.1.0 replaces 1.0.0", "stable: 1.1.0 replaces 1.0.0"}, []string{
			"1.0.0 stable: update to 1.1.0 on 4.18, upgrade to 4.19", "1.1.0 stable: upgrade to 4.19",
		}},
		{"update after, by replaces", []string{"stable: 1.0.0", "stable: 1.1.0 replaces 1.0.0"}, []string{
			"1.0.0 stable: upgrade to 4.19, update to 1.1.0",
		}},
		{"update after, by skips", []string{"stable: 1.0.0", "stable: 1.1.0 skips 1.0.0"}, []string{
			"1.0.0 stable: upgrade to 4.19, update to 1.1.0",
		}},
		{"update after, by skipRange", []string{"stable: 1.0.0", "stable: 1.1.0 skipRange <1.1.0"}, []string{
			"1.0.0 stable: upgrade to 4.19, update to 1.1.0",
		}},
		{"orphaned", []string{"stable: 1.0.0", "stable: 1.1.0 replaces 1.0.1"}, []string{
			`1.0.0 stable: stuck: catalog "v4.19" neither has nor updates it`,
		}},
		// 4.19 has 1.1.0, but nothing for 4.20, which only has 1.2.0.
		{"orphaned later", []string{
			"stable: 1.0.0, 1.1.0 replaces 1.0.0", "stable: 1.1.0", "stable: 1.2.0",
		}, []string{
			`1.0.0 stable: update to 1.1.0 on 4.18, upgrade to 4.19; stuck: catalog "v4.20" neither has nor updates 1.1.0`,
			`1.1.0 stable: upgrade to 4.19; stuck: catalog "v4.20" neither has nor updates it`,
		}},
		{"no package", []string{"stable: 1.0.0", ""}, []string{
			`1.0.0 stable: stuck: catalog "v4.19" does not have the package`,
		}},
		// 1.0.0 blocks, and its update does not.
		{"blocked, with an update", []string{"stable: 1.0.0^4.18, 1.1.0 replaces 1.0.0", "stable: 1.1.0 replaces 1.0.0"}, []string{
			"1.0.0 stable: update to 1.1.0 on 4.18, upgrade to 4.19", "1.1.0 stable: upgrade to 4.19",
		}},
		{"blocked", []string{"stable: 1.0.0^4.18", "stable: 1.0.0^4.18"}, []string{
			"1.0.0 stable: stuck: olm.maxOpenShiftVersion 4.18 blocks the upgrade to 4.19",
		}},
		// 4.19 has no entry or update for 1.0.0, but the plan ends at 1.1.0, which lacks only a later
		// olm.maxOpenShiftVersion.
		{"blocked after an update", []string{"stable: 1.0.0, 1.1.0^4.18 replaces 1.0.0", "stable: 1.1.0^4.18"}, []string{
			"1.0.0 stable: update to 1.1.0 on 4.18; stuck: olm.maxOpenShiftVersion 4.18 of 1.1.0 blocks the upgrade to 4.19",
			"1.1.0 stable: stuck: olm.maxOpenShiftVersion 4.18 blocks the upgrade to 4.19",
		}},
		{"blocked by the last bundle only", []string{
			"stable: 1.0.0, 1.1.0^4.18 replaces 1.0.0", "stable: 1.0.0, 1.1.0^4.18 replaces 1.0.0",
		}, []string{
			"1.0.0 stable: upgrade to 4.19",
			"1.1.0 stable: stuck: olm.maxOpenShiftVersion 4.18 blocks the upgrade to 4.19",
		}},
		// The property in the catalog that a bundle was installed from counts: an installed 1.0.0 still has 4.18 in it.
		{"limit lifted later", []string{"stable: 1.0.0^4.19", "stable: 1.0.0", "stable: 1.0.0"}, []string{
			"1.0.0 stable: upgrade to 4.19; stuck: olm.maxOpenShiftVersion 4.19 blocks the upgrade to 4.20",
		}},
		{"invalid limit", []string{"stable: 1.0.0^x", "stable: 1.0.0"}, []string{
			`1.0.0 stable classic: stuck: the invalid olm.maxOpenShiftVersion blocks the upgrade to 4.19: failed to parse "x" ` +
				`as semver: Invalid character(s) found in major number "x"`,
			`1.0.0 stable v1: stuck: the invalid olm.maxOpenShiftVersion blocks the upgrade to 4.19: olm.maxOpenShiftVersion: ` +
				`"x" is not a version X.Y, such as 4.20`,
		}},
		// 1.0.0 is blocked on 4.18 and its update on 4.19, so two updates are needed.
		{"an update on each version", []string{
			"stable: 1.0.0^4.18, 1.1.0^4.19 replaces 1.0.0", "stable: 1.1.0^4.19, 1.2.0 replaces 1.1.0",
			"stable: 1.2.0 replaces 1.1.0",
		}, []string{
			"1.0.0 stable: update to 1.1.0 on 4.18, upgrade to 4.19, update to 1.2.0, upgrade to 4.20",
			"1.1.0 stable: upgrade to 4.19, update to 1.2.0, upgrade to 4.20",
		}},
		// 4.19 has 1.1.0, but neither the bundle before it nor the last one of the channel of 4.18.
		{"manual approval", []string{
			"stable: 1.0.0, 1.1.0 replaces 1.0.0, 1.2.0^4.18 replaces 1.1.0", "stable: 1.1.0",
		}, []string{
			"1.0.0 stable: update to 1.1.0 and no further on 4.18, upgrade to 4.19", "1.1.0 stable: upgrade to 4.19",
			"1.2.0 stable: stuck: " + `catalog "v4.19" neither has nor updates it`,
		}},
		// If several bundles are possible, the last one of the channel needs no manual approval.
		{"end of the channel", []string{
			"stable: 1.0.0, 1.1.0 replaces 1.0.0, 1.2.0 replaces 1.1.0", "stable: 1.1.0, 1.2.0 replaces 1.1.0",
		}, []string{
			"1.0.0 stable: update to 1.2.0 on 4.18, upgrade to 4.19", "1.1.0, 1.2.0 stable: upgrade to 4.19",
		}},
		{"channel ends", []string{"old: 1.0.0, 1.1.0 replaces 1.0.0", "new: 1.0.0, 1.1.0 replaces 1.0.0"}, []string{
			`1.0.0, 1.1.0 old: upgrade to 4.19, switch to channel "new"`,
		}},
		{"bundle leaves the channel", []string{"old: 1.0.0", "new: 1.0.0; old: 0.9.0", "new: 1.0.0; old: 0.9.0"}, []string{
			`1.0.0 old: upgrade to 4.19, switch to channel "new", upgrade to 4.20`,
		}},
		// Only the other channel has an update: the operator switches to it before the upgrade.
		{"switch for an update", []string{"a: 1.0.0^4.18; b: 1.1.0 replaces 1.0.0", "b: 1.1.0 replaces 1.0.0"}, []string{
			`1.0.0 a: switch to channel "b" on 4.18, update to 1.1.0, upgrade to 4.19`, "1.1.0 b: upgrade to 4.19",
		}},
		// 1.0.0 is in both, and b is the default channel.
		{"preferred channel", []string{"z: 1.0.0", "b: 1.0.0; a: 1.0.0; c: 1.0.0"}, []string{
			`1.0.0 z: upgrade to 4.19, switch to channel "b"`,
		}},
		// OLM v1 cannot install 1.1.0, and has no other update.
		{"dependency", []string{"stable: 1.0.0^4.18, 1.1.0! replaces 1.0.0", "stable: 1.1.0! replaces 1.0.0"}, []string{
			"1.0.0 stable classic: update to 1.1.0 on 4.18, upgrade to 4.19",
			`1.0.0 stable v1: stuck: catalog "v4.19" neither has nor updates it`,
			"1.1.0 stable classic: upgrade to 4.19",
		}},
		// OLM Classic rejects a channel with two heads, and updates nothing.
		{"rejected channel", []string{"stable: 1.0.0", "stable: 1.1.0 replaces 1.0.0, 1.2.0"}, []string{
			`1.0.0 stable classic: stuck: catalog "v4.19" neither has nor updates it (OLM Classic rejects a channel: a unique ` +
				`replacement chain within a channel is required to determine the relative order between channel entries, but 2 ` +
				`replacement chains were found in channel "stable" of package "kiln": 1.1.0, 1.2.0)`,
			"1.0.0 stable v1: upgrade to 4.19, update to 1.1.0",
		}},
		// The search also ends if there is an update loop.
		{"loop", []string{"stable: 1.0.0^4.18 replaces 1.1.0 skipRange <2.0.0, 1.1.0^4.18 skipRange <2.0.0", "stable: 1.2.0"}, []string{
			`1.0.0, 1.1.0 stable: stuck: catalog "v4.19" neither has nor updates them`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, err := across.Run(t.Context(), catalogsOf(t, tt.catalogs...), across.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(report); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestReport checks that the table leaves out plans that only upgrade the platform, unless they are asked for.
func TestReport(t *testing.T) {
	for _, tt := range []struct {
		next             string
		withDirect, want bool // want is whether there is a table
	}{
		{"stable: 1.0.0", false, false}, {"stable: 1.0.0", true, true}, {"stable: 1.1.0", false, true}, {"", true, true},
	} {
		r, err := across.Run(t.Context(), catalogsOf(t, "stable: 1.0.0", tt.next), across.Options{})
		if err != nil {
			t.Fatal(err)
		}
		plans := len(r.Plans)
		report := r.Report(tt.withDirect)
		if (len(report.Tables) > 0) != tt.want || len(r.Plans) != plans || !slices.Equal(report.Summary, []string{r.Summary()}) {
			t.Errorf("%q, %t: got %d tables, %d plans, %q", tt.next, tt.withDirect, len(report.Tables), len(r.Plans), report.Summary)
		}
	}
}

func lines(r *across.Report) []string {
	var all []string
	for _, p := range r.Plans {
		olm := ""
		if len(p.OLM) == 1 {
			olm = " " + string(p.OLM[0])
		}
		line := fmt.Sprintf("%s %s%s: %s", p.Bundles(), p.Channels(), olm, p.Text())
		all = append(all, strings.ReplaceAll(line, "kiln.v", ""))
	}
	return all
}

// catalogsOf returns the catalogs that texts describe, for OpenShift 4.18 and the versions after it.
func catalogsOf(t *testing.T, texts ...string) []*across.Catalog {
	t.Helper()
	var all []*across.Catalog
	for i, text := range texts {
		v := platform.Version{Major: 4, Minor: 18 + uint64(i)}
		all = append(all, read(t, v, objects(text)))
	}
	return all
}

// read reads a catalog of OpenShift.
func read(t *testing.T, v platform.Version, text string) *across.Catalog {
	t.Helper()
	c := &across.Catalog{Name: "v" + v.String(), Platform: platform.OpenShift(v)}
	if _, err := c.Read(t.Context(), declcfg.Source{FS: fstest.MapFS{"c.yaml": {Data: []byte(text)}}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// objects returns the objects of a catalog that a text of TestPlans describes.
func objects(text string) string {
	if text == "" {
		return ""
	}
	var yaml strings.Builder
	known := map[string]bool{}
	for i, channel := range strings.Split(text, "; ") {
		name, entries, _ := strings.Cut(channel, ": ")
		if i == 0 {
			fmt.Fprintf(&yaml, "{schema: olm.package, name: kiln, defaultChannel: %s}\n", name)
		}
		var list []string
		for entry := range strings.SplitSeq(entries, ", ") {
			words := strings.Fields(entry)
			version, limit, _ := strings.Cut(words[0], "^")
			version, needs := strings.CutSuffix(version, "!")
			list = append(list, fmt.Sprintf("{name: kiln.v%s%s}", version, keys(words[1:])))
			if !known[version] {
				known[version] = true
				fmt.Fprintf(&yaml, "---\n{schema: olm.bundle, package: kiln, name: kiln.v%s, properties: [%s]}\n", version,
					properties(version, limit, needs))
			}
		}
		fmt.Fprintf(&yaml, "---\n{schema: olm.channel, package: kiln, name: %s, entries: [%s]}\n", name, strings.Join(list, ", "))
	}
	return yaml.String()
}

// keys returns the keys of an entry after its name.
func keys(words []string) string {
	text := ""
	for pair := range slices.Chunk(words, 2) {
		switch pair[0] {
		case "replaces":
			text += ", replaces: kiln.v" + pair[1]
		case "skips":
			text += ", skips: [kiln.v" + pair[1] + "]"
		case "skipRange":
			text += `, skipRange: "` + pair[1] + `"`
		}
	}
	return text
}

func properties(version, limit string, needs bool) string {
	text := fmt.Sprintf("{type: olm.package, value: {packageName: kiln, version: %s}}", version)
	if limit != "" {
		text += fmt.Sprintf(", {type: olm.maxOpenShiftVersion, value: %q}", limit)
	}
	if needs {
		text += ", {type: olm.package.required, value: {packageName: clay, versionRange: <2.0.0}}"
	}
	return text
}

func TestOptions(t *testing.T) {
	catalogs := catalogsOf(t, "stable: 1.0.0, 1.1.0 replaces 1.0.0; old: 1.0.0", "stable: 1.1.0 replaces 1.0.0 skipRange <1.1.0")
	version, err := declcfg.ParseVersion("1.0.5", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		opts across.Options
		want []string
	}{
		{"bundle", across.Options{Bundles: []string{"kiln.v1.1.0"}}, []string{"1.1.0 stable: upgrade to 4.19"}},
		{"no operators", across.Options{Operators: []across.Operator{}}, nil},
		{"operator in no catalog", across.Options{Operators: []across.Operator{
			{Package: "kiln", Channel: "stable", Bundle: "kiln.v1.0.5", Version: &version, OLM: graph.Classic},
		}}, []string{`1.0.5 stable classic: stuck: catalog "v4.18" neither has nor updates it`}},
		{"operator in a channel that no catalog has", across.Options{Operators: []across.Operator{
			{Package: "kiln", Channel: "gone", Bundle: "kiln.v1.0.0", OLM: graph.V1},
		}}, []string{`1.0.0 gone v1: switch to channel "stable" on 4.18, update to 1.1.0, upgrade to 4.19`}},
		{"operator without a channel", across.Options{Operators: []across.Operator{
			{Package: "kiln", Bundle: "kiln.v1.0.0", OLM: graph.V1},
		}}, []string{"1.0.0 (none) v1: update to 1.1.0 on 4.18, upgrade to 4.19"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, err := across.Run(t.Context(), catalogs, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(report); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		opts across.Options
		want string
	}{
		{across.Options{Bundles: []string{"kiln.v1.1.0", "kiln.v1.1.1"}}, `no bundle "kiln.v1.1.1" (did you mean "kiln.v1.1.0"?)`},
		{across.Options{Package: "kilm"}, `no package "kilm" (did you mean "kiln"?)`},
		{across.Options{Package: "loom", Bundles: []string{"kiln.v1.1.0"}}, `package "loom" has no bundle "kiln.v1.1.0"`},
	} {
		if _, err := across.Run(t.Context(), catalogs, tt.opts); !errors.Is(err, declcfg.ErrNotFound) || err.Error() != tt.want {
			t.Errorf("got error %v, want %s", err, tt.want)
		}
	}
}

// TestOLMv1Absent checks that there are no plans with OLM v1 for a platform that does not have it, unless the cluster
// has operators of OLM v1.
func TestOLMv1Absent(t *testing.T) {
	old := read(t, platform.Version{Major: 4, Minor: 12}, objects("stable: 1.0.0"))
	next := read(t, platform.Version{Major: 4, Minor: 13}, objects("stable: 1.1.0, 1.2.0 replaces 1.0.0"))
	report, err := across.Run(t.Context(), []*across.Catalog{old, next}, across.Options{})
	if err != nil || len(report.Plans) != 1 || !slices.Equal(report.Plans[0].OLM, []graph.Semantics{graph.Classic}) {
		t.Errorf("got %q, %v", lines(report), err)
	}
	in := across.Operator{Package: "kiln", Channel: "stable", Bundle: "kiln.v1.0.0", OLM: graph.V1}
	report, err = across.Run(t.Context(), []*across.Catalog{old, next}, across.Options{Operators: []across.Operator{in}})
	if err != nil || len(report.Plans) != 1 || !slices.Equal(report.Plans[0].OLM, []graph.Semantics{graph.V1}) {
		t.Errorf("with an operator of OLM v1: got %q, %v", lines(report), err)
	}
}

func TestCheck(t *testing.T) {
	c := func(name, target string) *across.Catalog {
		p, err := platform.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		return &across.Catalog{Name: name, Platform: p}
	}
	for _, tt := range []struct {
		catalogs []*across.Catalog
		want     string
	}{
		{[]*across.Catalog{c("a", "ocp=4.18"), c("b", "ocp=4.20")}, ""},
		{[]*across.Catalog{c("a", "kubernetes=1.31"), c("b", "kubernetes=1.32")}, ""},
		{[]*across.Catalog{c("a", "ocp=4.18")}, "an upgrade of the platform needs at least two catalogs"},
		{[]*across.Catalog{c("a", "ocp=4.18"), c("b", "ocp=4.18")}, `catalogs "a" and "b" are both for OpenShift 4.18`},
		{[]*across.Catalog{c("a", "ocp=4.18"), c("b", "ocp=4.20"), c("c", "ocp=4.19")},
			`catalog "c" (OpenShift 4.19) comes after catalog "b" (OpenShift 4.20), want the oldest platform first`},
		{[]*across.Catalog{c("a", "kubernetes=1.31"), c("b", "ocp=4.19")},
			`catalog "a" is for Kubernetes 1.31 and catalog "b" for OpenShift 4.19, want versions of one platform`},
	} {
		got := ""
		if err := across.Check(tt.catalogs); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestGaps checks the left-out versions of an upgrade. The version 5.0 of OpenShift follows 4.22, and is the same as 4.23.
func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		targets []string
		want    []string
	}{
		{[]string{"ocp=4.18", "ocp=4.20", "ocp=4.21", "ocp=5.1"}, []string{"4.18 and 4.20", "4.21 and 5.1"}},
		{[]string{"ocp=4.18", "ocp=5.0"}, []string{"4.18 and 5.0"}},
		{[]string{"ocp=4.21", "ocp=5.0"}, []string{"4.21 and 5.0"}},
		{[]string{"ocp=4.21", "ocp=4.23"}, []string{"4.21 and 4.23"}},
		{[]string{"ocp=4.21", "ocp=4.22", "ocp=5.0", "ocp=5.1"}, nil},
		{[]string{"ocp=4.22", "ocp=4.23", "ocp=5.1"}, nil},
		{[]string{"ocp=4.23", "ocp=5.2"}, []string{"4.23 and 5.2"}},
		{[]string{"kubernetes=1.31", "kubernetes=1.32", "kubernetes=1.34"}, []string{"1.32 and 1.34"}},
	} {
		var catalogs []*across.Catalog
		for _, target := range tt.targets {
			p, err := platform.Parse(target)
			if err != nil {
				t.Fatal(err)
			}
			catalogs = append(catalogs, &across.Catalog{Name: target, Platform: p})
		}
		if gaps := across.Gaps(catalogs); !slices.Equal(gaps, tt.want) {
			t.Errorf("%q: gaps between %q, want %q", tt.targets, gaps, tt.want)
		}
	}
}

// TestExamplesOfRules checks that the bad example of each rule breaks only this rule, and the good one breaks none.
func TestExamplesOfRules(t *testing.T) {
	ruletest.Explained(t, across.Rules().All())
	for _, r := range across.Rules().All() {
		t.Run(r.Name, func(t *testing.T) {
			if got := rulesOf(t, r.Example().Bad); !slices.Equal(got, []string{r.Name}) {
				t.Errorf("the bad example breaks %q", got)
			}
			if got := rulesOf(t, r.Example().Good); got != nil {
				t.Errorf("the good example breaks %q", got)
			}
		})
	}
}

// rulesOf returns the rules broken by the example with some of its files replaced.
func rulesOf(t *testing.T, change string) (names []string) {
	t.Helper()
	files := map[string]string{}
	for _, text := range []string{across.Rules().Example, change} {
		for _, f := range txtar.Parse([]byte(text)).Files {
			files[f.Name] = string(f.Data)
		}
	}
	var catalogs []*across.Catalog
	for i, name := range []string{"v4.18.yaml", "v4.19.yaml"} {
		catalogs = append(catalogs, read(t, platform.Version{Major: 4, Minor: 18 + uint64(i)}, files[name]))
	}
	report, err := across.Run(t.Context(), catalogs, across.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		names = append(names, p.Rule)
	}
	return names
}
