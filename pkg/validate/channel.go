package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// channel checks an olm.channel on its own.
func (s *scope) channel(c *declcfg.Channel) {
	if c.Package == "" {
		s.add("channel-package", "/package", "unknown package %q for channel %q: the channel has no package", "", c.Name)
	}
	if c.Name == "" {
		s.add("channel-name", "/name", "package %q contains channel with no name", c.Package)
	}
	s.otherProperties(c.Properties)
	if len(c.Entries) == 0 {
		s.add("channel-entries", "/entries", "channel must contain at least one bundle: it has no entries")
		return
	}
	s.entries(c.Entries)
	s.graph(c.Entries)
}

func (s *scope) entries(entries []declcfg.Entry) {
	seen := make(map[string]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		at := index("/entries", i)
		if e.Name == "" {
			s.add("entry-name", at+"/name", "the entry has no name")
		} else if seen[e.Name] {
			s.add("duplicate-entry", at+"/name", "duplicate entry %q: it is already in the channel", e.Name)
		}
		seen[e.Name] = true
		for j, skip := range e.Skips {
			if skip == "" {
				s.add("empty-skip", index(at+"/skips", j), "skip[%d] is empty: entry %q skips an empty name", j, e.Name)
			}
		}
		if e.SkipRange == "" {
			continue
		}
		switch in, err := parseRange(e.SkipRange); {
		case err != nil:
			s.add("skip-range", at+"/skipRange", "invalid skipRange %q: entry %q: %v", e.SkipRange, e.Name, err)
		case in.Empty():
			s.add("empty-range", at+"/skipRange", "no version is in skipRange %q of entry %q", e.SkipRange, e.Name)
		}
	}
}

// graphRules maps the problem kinds of package graph to rules. Upstream accepts a cycle that no replaces edge reaches.
var graphRules = map[graph.Kind]string{
	graph.NoHead:       "channel-head",
	graph.SeveralHeads: "channel-head",
	graph.Cycle:        "channel-cycle",
	graph.Stranded:     "channel-stranded",
}

func (s *scope) graph(entries []declcfg.Entry) {
	var cycle []jsontext.Pointer // the cycle because of which there is no head
	for _, p := range graph.New(entries).Check() {
		if p.Kind == graph.NoHead {
			cycle = p.At
		}
		rule, ok := graphRules[p.Kind]
		if !ok || p.Kind == graph.Cycle && slices.Equal(p.At, cycle) { // already reported
			continue
		}
		if p.Kind == graph.SeveralHeads && s.misnamedHeads(entries, p) {
			continue
		}
		s.add(rule, p.At[0], "%s", p)
	}
}

// misnamedHeads reports entries that replace a missing entry, if its name is likely a typo of a head with a lower
// version. It returns false if the channel has several heads for another reason.
func (s *scope) misnamedHeads(entries []declcfg.Entry, p graph.Problem) bool {
	exists := map[string]bool{}
	for _, e := range entries {
		exists[e.Name] = true
	}
	meant := map[int]string{} // head that each entry likely replaces, by index of the entry
	heads := slices.Clone(p.Names)
	for i, e := range entries {
		if e.Replaces == "" || exists[e.Replaces] {
			continue
		}
		isHigher := func(head string) bool { return !isLower(head, e.Name) }
		near := nearest.Within(maxTypo, e.Replaces, slices.DeleteFunc(slices.Clone(heads), isHigher))
		if near != "" {
			meant[i] = near
			heads = slices.DeleteFunc(heads, func(head string) bool { return head == near })
		}
	}
	if len(heads) != 1 {
		return false
	}
	for _, i := range slices.Sorted(maps.Keys(meant)) {
		s.add("channel-head", index("/entries", i)+"/replaces",
			"multiple channel heads found in graph: %s: %q replaces %q, and the channel has no such entry (did you mean %q?)",
			strings.Join(p.Names, ", "), entries[i].Name, entries[i].Replaces, meant[i])
	}
	return true
}

// isLower reports whether both bundle names end in a version, and the version of a is lower.
func isLower(a, b string) bool {
	versionOf := func(name string) (declcfg.Version, error) {
		_, text, _ := strings.Cut(name, ".v")
		return declcfg.ParseVersion(text, "")
	}
	low, errLow := versionOf(a)
	high, errHigh := versionOf(b)
	return errLow == nil && errHigh == nil && low.Compare(high) < 0
}
