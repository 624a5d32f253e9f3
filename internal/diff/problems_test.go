package diff_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/testing/ruletest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// lost returns the problems of a catalog that replaces another, without their places: rule, then message.
func lost(t *testing.T, before, after string) []string {
	t.Helper()
	source := func(text string) []declcfg.Source {
		return []declcfg.Source{{FS: fstest.MapFS{"c.yaml": {Data: []byte(text)}}}}
	}
	report, err := diff.Compare(t.Context(), source(before), source(after))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range report.Problems() {
		all = append(all, p.Rule+" "+p.Pos.String()+" "+p.Message)
	}
	return all
}

// TestExamplesOfRules checks that the bad example of each rule breaks only this rule where the good one is published,
// and that the good one may be published again.
func TestExamplesOfRules(t *testing.T) {
	ruletest.Explained(t, diff.Rules().All())
	for _, r := range diff.Rules().All() {
		e := r.Example()
		if got := lost(t, e.Good, e.Bad); len(got) != 1 || !strings.HasPrefix(got[0], r.Name+" /c.yaml:") {
			t.Errorf("the bad example of %s breaks %q", r.Name, got)
		}
		if got := lost(t, e.Good, e.Good); got != nil {
			t.Errorf("the good example of %s breaks %q", r.Name, got)
		}
	}
}

// TestProblems checks the problems of fragments.
func TestProblems(t *testing.T) {
	pkg := func(name string) string {
		return "---\nschema: olm.package\nname: " + name + "\ndefaultChannel: stable\n"
	}
	channel := func(pkg, entries string) string {
		return "---\nschema: olm.channel\npackage: " + pkg + "\nname: stable\nentries: [" + entries + "]\n"
	}
	bundle := func(pkg, version, more string) string {
		return "---\nschema: olm.bundle\npackage: " + pkg + "\nname: " + pkg + ".v" + version + "\nimage: r.example/b:" +
			version + "\nproperties:\n- {type: olm.package, value: {packageName: " + pkg + ", version: " + version + "}}\n" + more
	}
	const one, two = "{name: kiln.v1.0.0}", "{name: kiln.v1.0.0}, {name: kiln.v1.1.0, replaces: kiln.v1.0.0}"
	kiln := pkg("kiln") + channel("kiln", one) + bundle("kiln", "1.0.0", "")
	loom := pkg("loom") + channel("loom", "{name: loom.v1.0.0}") + bundle("loom", "1.0.0", "")
	for name, tt := range map[string]struct {
		before, after string
		want          []string
	}{
		"a package that only the index has":    {kiln + loom, kiln, nil},
		"a package that only the fragment has": {loom, kiln + loom, nil},
		"an empty index":                       {"", kiln, nil},
		"a new version": {
			kiln, pkg("kiln") + channel("kiln", two) + bundle("kiln", "1.1.0", "") + bundle("kiln", "1.0.0", ""), nil,
		},
		"metadata": {
			kiln, kiln + "- {type: olm.csv.metadata, value: {displayName: Kiln}}\n",
			[]string{`published-bundle-changed /c.yaml:11:1 bundle "kiln.v1.0.0" is published with other content: ` +
				`properties olm.csv.metadata`},
		},
		"a renamed channel": {
			kiln, strings.ReplaceAll(kiln, "stable", "fast"),
			[]string{`published-channel-removed /c.yaml:2:1 channel "stable" is gone`},
		},
	} {
		if got := lost(t, tt.before, tt.after); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestProblemsOfPublished checks that no catalog loses anything against itself.
func TestProblemsOfPublished(t *testing.T) {
	for _, dir := range shared.Catalogs(t) {
		sources := []declcfg.Source{{Name: dir, FS: os.DirFS(dir)}}
		report, err := diff.Compare(t.Context(), sources, sources)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Problems(); len(got) > 0 {
			t.Errorf("%s: %v", dir, got[0])
		}
	}
}

// TestProblemsAndCounts checks that the problems are what --fail-on counts, for the packages of both catalogs.
func TestProblemsAndCounts(t *testing.T) {
	dirs := shared.Catalogs(t)
	if len(dirs) < 2 {
		t.Fatalf("%d catalogs", len(dirs))
	}
	for _, pair := range [][2]string{{dirs[0], dirs[1]}, {dirs[1], dirs[0]}} {
		report, err := diff.Compare(t.Context(), []declcfg.Source{{Name: pair[0], FS: os.DirFS(pair[0])}},
			[]declcfg.Source{{Name: pair[1], FS: os.DirFS(pair[1])}})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, p := range report.Problems() {
			found[p.Package+" "+p.Rule]++
		}
		for _, pkg := range report.Packages {
			one := *report // Limit changes it
			one.Packages = slices.Clone(report.Packages)
			if err := one.Limit(pkg.Name); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			if pkg.Change == diff.Changed {
				s := one.Summary
				want["published-bundle-removed"], want["published-bundle-changed"] = s.Bundles.Removed, s.Bundles.Changed
				want["published-channel-removed"], want["published-entry-removed"] = s.Channels.Removed, s.Left
			}
			for _, rule := range diff.Rules().Names() {
				if got := found[pkg.Name+" "+rule]; rule != "published-update-lost" && got != want[rule] {
					t.Errorf("%s to %s: package %s: %d problems of %s, want %d", pair[0], pair[1], pkg.Name, got, rule, want[rule])
				}
			}
			lost := found[pkg.Name+" published-update-lost"] + want["published-channel-removed"]
			if pkg.Change == diff.Changed && lost == 0 && one.Count(diff.LostPath) > 0 {
				t.Errorf("%s to %s: package %s: no problem, but stranded installs", pair[0], pair[1], pkg.Name)
			}
		}
	}
}
