package validate

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// channel checks an olm.channel by itself.
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

// graphRules maps what package graph finds to rules. Upstream accepts a cycle that replaces do not reach.
var graphRules = map[graph.Kind]string{
	graph.NoHead:       "channel-head",
	graph.SeveralHeads: "channel-head",
	graph.Cycle:        "channel-cycle",
	graph.Stranded:     "channel-stranded",
}

func (s *scope) graph(entries []declcfg.Entry) {
	var cycle []jsontext.Pointer // that leaves no head
	for _, p := range graph.New(entries).Check() {
		if p.Kind == graph.NoHead {
			cycle = p.At
		}
		rule, ok := graphRules[p.Kind]
		if !ok || p.Kind == graph.Cycle && slices.Equal(p.At, cycle) { // already reported
			continue
		}
		s.add(rule, p.At[0], "%s", p)
	}
}
