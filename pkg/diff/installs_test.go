package diff_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/diff"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestInstalls follows installed bundles in two versions of a channel. An arrow leads from what is updated; == is an
// arrow of skips, ~ of a skipRange. Lines are what installsOf writes.
func TestInstalls(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after string
		want          []string
	}{
		{
			// v1 -> v2          v1 -> v2 -> v3
			name:   "a version more",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
		},
		{
			// v1 -> v2          v2 -> v3
			name:   "the tail is gone, which nothing leads to any more",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v2 v3", "v2", "v3 <v2"),
			want:   []string{"c classic+v1: v1 stranded: no-update"},
		},
		{
			// v1 -> v2          (v1) -> v2 -> v3
			name:   "the tail is gone, but an edge leads on",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v2 v3", "v2 <v1", "v3 <v2"),
		},
		{
			// v1 -> v2          (v1) ~> v3
			name:   "everything is gone, but its versions are in a range",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v3", "v3 <3.0.0"),
			want:   []string{"c classic+v1: v1 goes to v3, not v2, past v2"},
		},
		{
			// v1 -> v2          v1 -> v2  v3
			name:   "a head that replaces nothing",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 !v2"),
			want: []string{
				"c classic: v1 stranded: no-update", // v2 is skipped, and v1 in no one's way
				"c classic: v2 stranded: no-update",
			},
		},
		{
			// v1 -> v2 -> v3    v1 -> v3, v2 ==> v3
			name:   "a version is skipped",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v1 !v2"),
			want:   []string{"c classic+v1: v1 goes to v3, not v2, past v2"},
		},
		{
			// v1 -> v3          v1 -> v2 -> v3
			name:   "a version in between",
			before: graphOf("v1 v3", "v1", "v3 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2"),
			want:   []string{"c classic+v1: v1 goes to v2, not v3, past nothing"},
		},
		{
			// v1, v2 ~> v3      v1, v2, v3 ~> v4
			name:   "ranges",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 <3.0.0"),
			after:  graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3 <v2 <3.0.0", "v4 <v3 <4.0.0"),
			want:   []string{"c classic+v1: v1 v2 goes to v4, not v3, past v3"},
		},
		{
			// v1 -> v2 -> v3 -> v4 -> v5    v1 -> v4 -> v5
			name:   "the ways meet again",
			before: graphOf("v1 v2 v3 v4 v5", "v1", "v2 <v1", "v3 <v2", "v4 <v3", "v5 <v4"),
			after:  graphOf("v1 v4 v5", "v1", "v4 <v1 !v2 !v3", "v5 <v4"),
			want: []string{
				"c classic+v1: v1 goes to v4, not v2, past v2 v3",
				"c classic+v1: v2 goes to v4, not v3, past v3",
			},
		},
		{
			// v1 -> v2          v1
			name:   "the head is taken back",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1", "v1"),
			want: []string{
				"c classic+v1: v2 stranded: no-update",
				"c classic+v1: v1 goes to nothing, not v2, past v2",
			},
		},
		{
			// v1 -> v2          v1 -> v2 -> v3 ~> v3
			name:   "a range with its own version in it",
			before: graphOf("v1 v2", "v1", "v2 <v1"),
			after:  graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 >=3.0.0"),
			want:   []string{"c classic: v1 v2 stranded: endless"},
		},
		{
			// v1 -> v2 -> v3    v1 -> v2  v3 ==> v4
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
			// v1 -> v2  v3      the same
			name:   "what was stranded before is no news",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3"),
			after:  graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3", "v4 <v3"),
		},
		{
			// (v1) -> v2        v2
			name:   "what was only named could not be installed",
			before: graphOf("v2", "v2 <v1"),
			after:  graphOf("v2", "v2"),
		},
		{
			// v1 -> v2, d       -
			name:   "the channel is gone",
			before: graphOf("v1 v2", "v1", "v2 <v1") + "---\n{schema: olm.channel, package: p, name: d, entries: [{name: v2}]}",
			after:  graphOf("v1 v2", "v1", "v2 <v1"),
			want:   []string{"d classic+v1: v2 stranded: channel-removed"},
		},
		{
			name:   "the package is gone",
			before: graphOf("v1 v2", "v1", "v2 <v1") + "---\n{schema: olm.channel, package: p, name: d, entries: [{name: v2}]}",
			after:  "",
			want:   []string{" classic+v1: v1 v2 stranded: package-removed"},
		},
		{
			// OLM v1 prefers what is not deprecated.
			name:   "the head is deprecated",
			before: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 !v1"),
			after: graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2 !v1") +
				"---\n{schema: olm.deprecations, package: p, entries: [{reference: {schema: olm.bundle, name: v3}, message: Bad.}]}",
			want: []string{
				"c v1: v3 stranded: no-update",
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

// installsOf writes what becomes of installs.
func installsOf(r *diff.Report) []string {
	who := func(i diff.Installs) string {
		var by []string
		for _, s := range i.Semantics {
			by = append(by, string(s))
		}
		return fmt.Sprintf("%s %s: %s", i.Channel, strings.Join(by, "+"), strings.Join(i.Installed, " "))
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
			lines = append(lines, line)
		}
		for _, r := range p.Reroutes {
			lines = append(lines, fmt.Sprintf("%s goes to %s, not %s, past %s", who(r.Installs), orNothing(r.Next.After),
				r.Next.Before, orNothing(strings.Join(r.PassedOver, " "))))
		}
	}
	return lines
}

// Installs count once, whatever semantics they are about.
func TestStrandedCount(t *testing.T) {
	before := graphOf("v1 v2 v3", "v1", "v2 <v1", "v3 <v2")
	after := graphOf("v1 v2 v3 v4", "v1", "v2 <v1", "v3", "v4 <v3")
	r := compare(t, before, after)
	if r.Summary.Stranded != 3 || r.Count(diff.LostPath) != 3 {
		t.Errorf("%d stranded installs, want v1, v2 and v3", r.Summary.Stranded)
	}
}

// The end of a long chain is found without walking it from every bundle.
func TestLongChain(t *testing.T) {
	const n = 20_000
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
		Installs:   diff.Installs{Channel: "c", Semantics: []graph.Semantics{graph.Classic, graph.V1}, Installed: []string{"v19998"}},
		Next:       diff.Values{Before: "v19999", After: "v20000"},
		PassedOver: []string{"v19999"},
	}}
	if p := r.Packages[0]; !reflect.DeepEqual(p.Reroutes, want) || p.Stranded != nil {
		t.Errorf("reroutes %+v, stranded %+v", p.Reroutes, p.Stranded)
	}
}
