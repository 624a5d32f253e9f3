package graph

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// parse parses a channel from a line such as "c>b b>a,x|y a": each entry with the entry it replaces and, after a comma,
// the entries it skips.
func parse(line string) *Channel {
	var entries []declcfg.Entry
	for field := range strings.SplitSeq(line, " ") {
		var e declcfg.Entry
		edges, skips, hasSkips := strings.Cut(field, ",")
		e.Name, e.Replaces, _ = strings.Cut(edges, ">")
		if hasSkips {
			e.Skips = strings.Split(skips, "|")
		}
		entries = append(entries, e)
	}
	return New(entries)
}

func TestChannel(t *testing.T) {
	for _, test := range []struct {
		channel                string
		heads, chain, stranded string
		cycles                 string
	}{
		{channel: "a", heads: "a", chain: "a"},
		{channel: "a b>a c>b", heads: "c", chain: "c b a"},
		{channel: "c>b b>a a>gone", heads: "c", chain: "c b a"},
		{channel: "c>a,b b>a a", heads: "c", chain: "c a"},
		{channel: "c,a|b|gone a b", heads: "c", chain: "c"},
		{channel: "b a", heads: "a b"},
		{channel: "c>a b>a a", heads: "b c"},
		{channel: "c>gone a", heads: "a c"},
		{channel: "c,b b>a a", heads: "c", chain: "c", stranded: "a"},
		{channel: "c>b,b b>a a", heads: "c", chain: "c", stranded: "a"},
		{channel: "d>c,a c>b b>a a>z z", heads: "d", chain: "d c b", stranded: "z"},
		{channel: "a>a", cycles: "a a"},
		{channel: "a,a"},
		{channel: "a,b b>a"},
		{channel: "c>b b>a a>c", cycles: "a c b a"},
		{channel: "d>c c>b b>c", heads: "d", chain: "d c b", cycles: "b c b"},
		{channel: "z d>c c>d b>a a>b", heads: "z", chain: "z", stranded: "a b c d", cycles: "a b a; c d c"},
		{channel: "d,b c>b b>c", heads: "d", chain: "d", stranded: "c", cycles: "b c b"},
		{channel: ""},
		{channel: ", a,", heads: "a", chain: "a"},
		{channel: "b>a b>c a c", heads: "b c"},
	} {
		c := parse(test.channel)
		var cycles []string
		for _, cycle := range c.Cycles() {
			cycles = append(cycles, strings.Join(cycle, " "))
		}
		for _, part := range []struct{ what, got, want string }{
			{"heads", strings.Join(c.Heads(), " "), test.heads},
			{"chain", strings.Join(c.Chain(), " "), test.chain},
			{"stranded", strings.Join(c.Stranded(), " "), test.stranded},
			{"cycles", strings.Join(cycles, "; "), test.cycles},
		} {
			if part.got != part.want {
				t.Errorf("%q: %s: got %q, want %q", test.channel, part.what, part.got, part.want)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		channel string
		want    []string // messages with places
	}{
		{"c>b,x b>a a>gone", nil},
		{"", nil},
		{"b a", []string{"multiple channel heads found in graph: a, b: no entry replaces or skips them [/entries/1 /entries/0]"}},
		{"a>a", []string{
			"no channel head found in graph: every entry is replaced or skipped: a -> a [/entries/0/replaces]",
			"detected cycle in replaces chain of upgrade graph: a -> a [/entries/0/replaces]",
		}},
		{"a,x|a", []string{"no channel head found in graph: every entry is replaced or skipped: a -> a [/entries/0/skips/1]"}},
		{"c>b b>a a,x|b|c", []string{
			"no channel head found in graph: every entry is replaced or skipped: a -> c -> b -> a " +
				"[/entries/2/skips/2 /entries/0/replaces /entries/1/replaces]",
		}},
		{"b>a a ,a|b b,b", nil}, // skips of nameless and repeated entries are ignored
		{"d>c c>b b>c", []string{"detected cycle in replaces chain of upgrade graph: b -> c -> b [/entries/2/replaces /entries/1/replaces]"}},
		{"c>b,b b>a a", []string{
			"channel contains one or more stranded bundles: a: following replaces from the head does not lead to them [/entries/2]",
		}},
		{"z b>a a>b d,e e>f f z2>z z3>z2,d", []string{
			"detected cycle in replaces chain of upgrade graph: a -> b -> a [/entries/2/replaces /entries/1/replaces]",
			"channel contains one or more stranded bundles: f: following replaces from the head does not lead to them [/entries/5]",
		}},
		{"d>c,b c>b b>c", []string{
			"cycle of replaces through a skipped entry: b -> c -> b [/entries/2/replaces /entries/1/replaces]",
		}},
		{"d,b c>b b>c", []string{
			"cycle of replaces through a skipped entry: b -> c -> b [/entries/2/replaces /entries/1/replaces]",
			"channel contains one or more stranded bundles: c: following replaces from the head does not lead to them [/entries/1]",
		}},
	} {
		var got []string
		for _, p := range parse(test.channel).Check() {
			got = append(got, fmt.Sprint(p, " ", p.At))
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q:\n got %q\nwant %q", test.channel, got, test.want)
		}
	}
}

// rejected reports whether opm rejects the graph of a channel. It is the simplest form of opm's rule: walk from the
// single head, stop before a skipped entry, and no entry may remain. Names must be unique and not empty.
func rejected(entries []declcfg.Entry) bool {
	byName := map[string]declcfg.Entry{}
	left := map[string]bool{}
	heads := map[string]bool{}
	skipped := map[string]bool{}
	for _, e := range entries {
		byName[e.Name], left[e.Name], heads[e.Name] = e, true, true
	}
	for _, e := range entries {
		delete(heads, e.Replaces)
		for _, skip := range e.Skips {
			delete(heads, skip)
			delete(left, skip)
			skipped[skip] = true
		}
	}
	if len(heads) != 1 {
		return true
	}
	visited := map[string]bool{}
	for name := range heads {
		for name != "" && !skipped[name] {
			if visited[name] {
				return true
			}
			visited[name] = true
			delete(left, name)
			name = byName[name].Replaces
		}
	}
	return len(left) > 0
}

// FuzzCheck checks that Check finds a problem other than SkippedCycle exactly if opm rejects the channel, and that
// names and places match.
func FuzzCheck(f *testing.F) {
	for _, channel := range []string{"c>b,x b>a a", "b a", "a>a", "c>b,b b>a a", "d>c,b c>b b>c", ", ,a a,", "z b>a a>b"} {
		f.Add(channel)
	}
	f.Fuzz(func(t *testing.T, channel string) {
		c := parse(channel)
		var bad bool
		for _, p := range c.Check() {
			bad = bad || p.Kind != SkippedCycle
			checkPlaces(t, c, p)
		}
		for _, cycle := range c.Cycles() {
			if cycle[0] != cycle[len(cycle)-1] || slices.Min(cycle) != cycle[0] {
				t.Errorf("cycle %q", cycle)
			}
		}
		if len(c.nodes) != len(c.entries) {
			return // opm rejects the names first
		}
		if want := rejected(c.entries); bad != want {
			t.Errorf("got %v, but opm rejects it: %v", c.Check(), want)
		}
	})
}

// checkPlaces checks that each place is in the named entry, and that it leads to the next entry of a path.
func checkPlaces(t *testing.T, c *Channel, p Problem) {
	for i, at := range p.At {
		var entry, skip int
		place := string(at)
		_, err := fmt.Sscanf(place, "/entries/%d", &entry)
		if err != nil || c.entries[entry].Name != p.Names[i] {
			t.Fatalf("%v: place %s of %s", p, at, p.Names[i])
		}
		e := c.entries[entry]
		_, field, _ := strings.Cut(place[len("/entries/"):], "/")
		if field == "replaces" && e.Replaces != p.Names[i+1] {
			t.Errorf("%v: %s does not lead to %s", p, at, p.Names[i+1])
		}
		if _, err := fmt.Sscanf(field, "skips/%d", &skip); err == nil && e.Skips[skip] != p.Names[i+1] {
			t.Errorf("%v: %s does not lead to %s", p, at, p.Names[i+1])
		}
	}
}

func name(i int) string { return fmt.Sprintf("operator.v1.%06d", i) }

// line returns n entries, each of which replaces the next and skips up to skips of the names after it.
func line(n, skips int) []declcfg.Entry {
	entries := make([]declcfg.Entry, n)
	for i := range entries {
		entries[i] = declcfg.Entry{Name: name(i), Replaces: name(i + 1)}
		for s := range skips {
			entries[i].Skips = append(entries[i].Skips, name(n+1+s))
		}
	}
	return entries
}

func TestLarge(t *testing.T) {
	const n = 100_000
	chain := line(n, 0)
	if got := New(chain).Check(); got != nil {
		t.Errorf("chain: %d problems", len(got))
	}
	if got := New(chain).Chain(); len(got) != n || got[0] != name(0) || got[n-1] != name(n-1) {
		t.Errorf("chain of %d", len(got))
	}
	chain[n-1].Replaces = chain[0].Name
	problems := New(chain).Check()
	if len(problems) != 2 || problems[1].Kind != Cycle || len(problems[1].Names) != n+1 {
		t.Errorf("circle: %d problems", len(problems))
	}
	chain[n-1].Replaces = chain[n-1000].Name
	if got := New(chain).Cycles(); len(got) != 1 || len(got[0]) != 1001 {
		t.Errorf("circle of 1000 at the end: got %d", len(got))
	}
}

func BenchmarkCheck(b *testing.B) {
	unlinked := line(100_000, 0)
	for i := range unlinked {
		unlinked[i].Replaces = ""
	}
	circle := line(100_000, 0)
	circle[len(circle)-1].Replaces = name(0)
	for _, bench := range []struct {
		name    string
		entries []declcfg.Entry
	}{
		{"chain=1000", line(1_000, 0)},
		{"chain=100000", line(100_000, 0)},
		{"skips=1000000", line(100_000, 10)},
		{"heads=100000", unlinked},
		{"circle=100000", circle},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(bench.entries).Check()
			}
		})
	}
}

// Cycles returns every cycle of replaces, as a path from an entry back to itself: a, b, a if a replaces b and b
// replaces a.
func (c *Channel) Cycles() (cycles [][]string) {
	for _, cycle := range c.cycles() {
		cycles = append(cycles, c.names(append(slices.Clip(cycle), cycle[0])))
	}
	return cycles
}

func TestBypass(t *testing.T) {
	gone := declcfg.Entry{Name: "v2", Replaces: "v1", Skips: []string{"v1.5", "v1.6"}, SkipRange: "<2.0.0"}
	e := declcfg.Entry{Name: "v3", Replaces: "v2", Skips: []string{"v1.6"}, SkipRange: "<3.0.0"}
	got := Bypass(e, gone)
	want := declcfg.Entry{Name: "v3", Replaces: "v1", Skips: []string{"v1.6", "v2", "v1.5"}, SkipRange: "<3.0.0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(e.Skips, []string{"v1.6"}) {
		t.Errorf("the entry itself has changed: %+v", e)
	}
}
