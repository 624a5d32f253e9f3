package diff_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestInstalls compares the updates of installed bundles in two versions of a channel, drawn as before | after. Arrows
// lead from the installed bundle to its update; ==> is skips, ~> a skipRange. The expected lines are in the format of
// installsOf.
func TestInstalls(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after string
		want          []string
	}{
		{
			// v1 -> v2        | v1 -> v2 -> v3
			name:   "a version more",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
		},
		{
			// v1 -> v2        | v2 -> v3
			name:   "the tail is gone, which nothing leads to any more",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v2 v3", "v2", "v3 <v2"),
			want:   []string{"c classic+v1: v1 stranded: no-update"},
		},
		{
			// v1 -> v2        | (v1) -> v2 -> v3
			name:   "the tail is gone, but an edge leads on",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v2 v3", "v2 <v1", "v3 <v2"),
		},
		{
			// v1 -> v2        | (v1) ~> v3
			name:   "everything is gone, but its versions are in a range",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v3", "v3 <3.0.0"),
			want:   []string{"c classic+v1: v1 goes to v3, not v2, past v2"},
		},
		{
			// v1 -> v2        | v1 -> v2 ==> v3; OLM Classic does not offer v2
			name:   "a head that skips, but replaces nothing",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 !v2"),
			want:   []string{"c classic: v1 stranded: no-update"},
		},
		{
			// v1 -> v2 -> v3  | v1 -> v3, v2 ==> v3
			name:   "a version is skipped",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v1 !v2"),
			want:   []string{"c classic+v1: v1 goes to v3, not v2, past v2"},
		},
		{
			// v1 -> v3        | v1 -> v2 -> v3
			name:   "a version in between",
			before: graphOf("v1 v3", "v1", "v3 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
			want:   []string{"c classic+v1: v1 goes to v2, not v3, past nothing"},
		},
		{
			// v1, v2 ~> v3    | v1, v2, v3 ~> v4
			name:   "ranges",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 <3.0.0"),
			after:  graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3 <v2 <3.0.0", "v4 <v3 <4.0.0"),
			want:   []string{"c classic+v1: v1 v2 goes to v4, not v3, past v3"},
		},
		{
			// v1 -> v2 -> v3 -> v4 -> v5  | v1 -> v4 -> v5
			name:   "the ways meet again",
			before: graphOf("v1 v2 v3 v4 v5", "v1", "v2 <v1", "v3 <v2", "v4 <v3", "v5 <v4"),
			after:  graphOf("v1 v4 v5", "v1", "v4 <v1 !v2 !v3", "v5 <v4"),
			want: []string{
				"c classic+v1: v1 goes to v4, not v2, past v2 v3",
				"c classic+v1: v2 goes to v4, not v3, past v3",
			},
		},
		{
			// v1 -> v2        | v1
			name:   "the head is taken back",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1", "v1"),
			want: []string{
				"c classic+v1: v2 stranded: no-update",
				"c classic+v1: v1 goes to nothing, not v2, past v2",
			},
		},
		{
			// v1 -> v2        | v1 -> v2 -> v3
			name:   "a range with its own version in it",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 >=3.0.0"),
		},
		{
			// v1 -> v2        | v1 -> v2 ~> v1
			name:   "an endless update",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2", "v1 >=2.0.0", "v2 <v1"),
			want:   []string{"c classic: v1 v2 stranded: endless"},
		},
		{
			// v1 -> v2        | v1 -> v2 -> v3, which OLM v1 rejects
			name:   "a dependency",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2") + "- {type: olm.gvk.required, value: {}}\n",
			want: []string{
				`c v1: v1 v2 stranded: update-rejected: validating bundle "v3": bundle "v3" has a dependency declared via ` +
					`property "olm.gvk.required" which is currently not supported`,
			},
		},
		{
			// v1 -> v2        | v1 -> v2, which OLM v1 rejects
			name:   "a dependency of the head",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2", "v1", "v2 <v1") + "- {type: olm.constraint, value: {}}\n",
			want: []string{
				`c v1: v1 v2 stranded: update-rejected: validating bundle "v2": bundle "v2" has a dependency declared via ` +
					`property "olm.constraint" which is currently not supported`,
			},
		},
		{
			// v1 -> v2        | v1, (v2)
			name:   "the head is prohibited",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2", "v1", "v2 <v1") + "- {type: olm.deprecated, value: {}}\n",
			want: []string{
				"c classic: v2 stranded: update-rejected: constraints not satisfiable: bundle v2 is deprecated (it has the " +
					"property olm.deprecated), and nothing else can be installed",
				"c classic: v1 goes to nothing, not v2, past v2",
			},
		},
		{
			// v1 -> v2 -> v3  | v1 -> v2, v3 -> v4
			name:   "updates end early",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
			after:  graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3", "v4 <v3"),
			want: []string{
				"c classic: v1 v2 v3 stranded: channel-refused",
				"c v1: v1 stranded: stops-early at v2",
				"c v1: v2 stranded: no-update",
			},
		},
		{
			// v1 -> v2, v3    | v1 -> v2, v3 -> v4
			name:   "what was stranded before is no news",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3"),
			after:  graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3", "v4 <v3"),
		},
		{
			// (v1) -> v2      | only v2
			name:   "what is named only is installed from earlier catalogs",
			before: graphOf("v2", "v2 <v1"),
			after:  graphOf("v2", "v2"),
			want:   []string{"c classic+v1: (v1) stranded: no-update"},
		},
		{
			// (v0) ==> v2, (v1) -> v2 | v2 -> v3, (v1) ==> v3
			name:   "one that is named only goes another way, one does not go at all",
			before: graphOf("v2", "v2 <v1 !v0"),
			after:  graphOf("v2 v3", "v2", "v3 <v2 !v1"),
			want: []string{
				"c classic+v1: (v0) stranded: no-update",
				"c classic+v1: (v1) goes to v3, not v2, past v2",
			},
		},
		{
			// (p.v1.0.0) -> v2 | (p.v1.0.0) ~> v2, with the version in its name
			name:   "one that is named only is in a range",
			before: graphOf("v2", "v2 <vp.v1.0.0"),
			after:  graphOf("v2", "v2 <2.0.0"),
		},
		{
			// (v1) -> v2      | v1 ~> v2, as the version of v1 is known again
			name:   "one that was named only is there again",
			before: graphOf("v2", "v2 <v1"),
			after:  graphOf("v1 v2", "v2 <2.0.0"),
		},
		{
			// v1 -> v2, v3    | v1, v2, v3
			name:   "an update is gone that did not lead to the end",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3"),
			after:  graphOf("v1 v2 v3", "v1", "v2", "v3"),
			want:   []string{"c v1: v1 goes to nothing, not v2, past v2"},
		},
		{
			// v1 -> v2, v3    | no channel
			name:   "an update is gone with its channel",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3"),
			after:  strings.Replace(graphOf("v1 v2 v3", "v1"), "name: c\nentries", "name: d\nentries", 1),
			want: []string{
				"c v1: v3 stranded: channel-removed",
				"c v1: v1 goes to nothing, not v2, past v2",
			},
		},
		{
			// v1 -> v2 ~> v1  | v1 -> v3
			name:   "an endless update is led to an end",
			before: graphOf("v1 v2", "v1 >=2.0.0", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2", "v3 <v1 !v2"),
			want: []string{
				"c classic+v1: v1 goes to v3, not v2, past v2 v1",
				"c classic: v2 goes to v3, not v1, past v1 v2",
			},
		},
		{
			// v1 -> v2, v2    | v1 -> v2
			name:   "the channel is gone",
			before: graphOf("v1 v2", "v1", "v2 <v1") + "---\n{schema: olm.channel, package: p, name: d, entries: [{name: v2}]}",
			after:  graphOf("v1 v2", "v1", "v2 <v1"),
			want:   []string{"d classic+v1: v2 stranded: channel-removed"},
		},
		{
			// v1 -> v2, v2    | nothing
			name:   "the package is gone",
			before: graphOf("v1 v2", "v1", "v2 <v1") + "---\n{schema: olm.channel, package: p, name: d, entries: [{name: v2}]}",
			after:  "",
			want:   []string{" classic+v1: v1 v2 stranded: package-removed"},
		},
		{
			// OLM v1 prefers bundles that are not deprecated.
			name:   "the head is deprecated",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 !v1"),
			after: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 !v1") +
				"---\n{schema: olm.deprecations, package: p, entries: [{reference: {schema: olm.bundle, name: v3}, message: Bad.}]}",
			want: []string{
				"c v1: v1 goes to v2, not v3, past v3",
				"c v1: v2 goes to nothing, not v3, past v3",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := installsOf(compare(t, test.before, test.after)); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// installsOf formats the stranded and rerouted installs of a report.
func installsOf(r *diff.Report) []string {
	who := func(i diff.Installs) string {
		var by []string
		for _, s := range i.Semantics {
			by = append(by, string(s))
		}
		names := slices.Clone(i.Installed)
		for _, b := range i.Pruned {
			names = append(names, "("+b+")")
		}
		return fmt.Sprintf("%s %s: %s", i.Channel, strings.Join(by, "+"), strings.Join(names, " "))
	}
	orNothing := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return s
	}
	var lines []string
	for _, p := range r.Packages {
		for _, s := range p.Stranded {
			line := fmt.Sprintf("%s stranded: %s", who(s.Installs), s.Reason)
			if s.End != "" {
				line += " at " + s.End
			}
			if s.Reason == diff.Rejected {
				line += ": " + s.Error
			}
			lines = append(lines, line)
		}
		for _, r := range p.Reroutes {
			lines = append(lines, fmt.Sprintf("%s goes to %s, not %s, past %s", who(r.Installs), orNothing(r.Next.After),
				r.Next.Before, orNothing(strings.Join(r.PassedOver, " "))))
		}
	}
	return lines
}

// TestStrandedCount checks that an install affected in both semantics is counted once.
func TestStrandedCount(t *testing.T) {
	before := graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2")
	after := graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3", "v4 <v3")
	r := compare(t, before, after)
	if r.Summary.Stranded != 3 || r.Count(diff.LostPath) != 3 {
		t.Errorf("%d stranded installs, want v1, v2 and v3", r.Summary.Stranded)
	}
}

// TestLongChain checks that a change in a long chain is reported only for the affected installs.
func TestLongChain(t *testing.T) {
	const n = 5000
	var bundles []string
	entries := []string{"v1"}
	for i := 1; i <= n; i++ {
		bundles = append(bundles, fmt.Sprintf("v%d", i))
		if i > 1 {
			entries = append(entries, fmt.Sprintf("v%d <v%d", i, i-1))
		}
	}
	before := graphOf(strings.Join(bundles, " "), entries...)
	entries[n-1] = fmt.Sprintf("v%d <v%d !v%d", n, n-2, n-1)
	r := compare(t, before, graphOf(strings.Join(bundles, " "), entries...))
	want := []diff.Reroute{{
		Installs:   diff.Installs{Channel: "c", Semantics: []graph.Semantics{graph.Classic, graph.V1}, Installed: []string{"v4998"}},
		Next:       diff.Values{Before: "v4999", After: "v5000"},
		PassedOver: []string{"v4999"},
	}}
	if p := r.Packages[0]; !reflect.DeepEqual(p.Reroutes, want) || p.Stranded != nil {
		t.Errorf("reroutes %+v, stranded %+v", p.Reroutes, p.Stranded)
	}
}

// TestRandomInstalls compares the report for random channels with the results of following every installed bundle.
func TestRandomInstalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	told := 0
	for range 500 {
		before, after := randomGraph(r), randomGraph(r)
		want := followEach(t, before, after)
		var got []string
		for _, p := range compare(t, before, after).Packages {
			for _, s := range p.Stranded {
				got = append(got, each(s.Installs, "stranded")...)
			}
			for _, s := range p.Reroutes {
				got = append(got, each(s.Installs, s.Next.Before+" "+s.Next.After)...)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("got %q\nwant %q\nbefore:\n%s\nafter:\n%s", got, want, before, after)
		}
		told += len(got)
	}
	if told < 500 {
		t.Errorf("only %d installs had anything to tell", told)
	}
}

// each returns a line for each install and semantics.
func each(i diff.Installs, what string) []string {
	var lines []string
	for _, s := range i.Semantics {
		for _, b := range slices.Concat(i.Installed, i.Pruned) {
			lines = append(lines, fmt.Sprintf("%s %s: %s", s, b, what))
		}
	}
	return lines
}

// randomGraph returns a channel with some of six bundles, with a chain and other edges between them.
func randomGraph(r *rand.Rand) string {
	var bundles, entries []string
	for i := 1; i <= 6; i++ {
		if r.IntN(4) == 0 {
			continue
		}
		entry := fmt.Sprintf("v%d", i)
		if len(bundles) > 0 && r.IntN(8) > 0 {
			entry += " <" + bundles[len(bundles)-1]
		}
		if r.IntN(3) == 0 {
			entry += fmt.Sprintf(" !v%d", 1+r.IntN(6))
		}
		if r.IntN(4) == 0 {
			entry += fmt.Sprintf(" <%d.0.0", 1+r.IntN(7))
		}
		bundles, entries = append(bundles, entry[:2]), append(entries, entry)
	}
	return graphOf(strings.Join(bundles, " "), entries...)
}

// followEach follows each bundle of the channel c before, in both catalogs. No bundle is deprecated, so OLM v1 prefers
// the highest version.
func followEach(t *testing.T, before, after string) []string {
	t.Helper()
	old, now := index(t, before).Package("p"), index(t, after).Package("p")
	var installed []declcfg.BundleSummary
	for _, b := range graph.NewPackage(old).Bundles {
		version := b.Version
		for _, again := range now.Bundles {
			if b.Virtual && again.Value.Name == b.Name {
				version = again.Value.Version
			}
		}
		installed = append(installed, declcfg.BundleSummary{Name: b.Name, Version: version})
	}
	was, is := fates(t, graph.NewPackage(old, installed...)), fates(t, graph.NewPackage(now, installed...))
	var lines []string
	for _, b := range installed {
		for _, s := range []graph.Semantics{graph.Classic, graph.V1} {
			old, now := was[s][b.Name], is[s][b.Name]
			switch {
			case old.reachesEnd && !now.reachesEnd:
				lines = append(lines, fmt.Sprintf("%s %s: stranded", s, b.Name))
			case old.next != "" && old.next != now.next:
				lines = append(lines, fmt.Sprintf("%s %s: %s %s", s, b.Name, old.next, now.next))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

type fate struct {
	next       string
	reachesEnd bool
}

// fates returns the next update of each bundle in channel c, and whether it reaches the end.
func fates(t *testing.T, p *graph.Package) map[graph.Semantics]map[string]fate {
	t.Helper()
	c := p.Channel("c")
	head := ""
	if order, err := c.Order(); err == nil && len(order) > 0 {
		head = order[0]
	}
	highest := ""
	for _, e := range c.Entries() { // entries are sorted
		highest = e.Name
	}
	all := map[graph.Semantics]map[string]fate{graph.Classic: {}, graph.V1: {}}
	outlooks, _ := p.Outlooks(c, graph.V1Options{}, false) // if OLM Classic rejects the channel, it updates no bundle
	for o := range outlooks {
		all[graph.Classic][o.Installed] = fate{o.Classic.Next, head != "" && o.Classic.End == head && !o.Classic.Loop}
		all[graph.V1][o.Installed] = fate{o.V1.Next, o.V1.End == highest && !o.V1.Loop}
	}
	return all
}

func index(t *testing.T, text string) *declcfg.Index {
	t.Helper()
	x, err := declcfg.ReadIndex(t.Context(), catalog(text)...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
