package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func (s *scope) channel(c *declcfg.Channel) {
	if c.Package == "" {
		s.add(ruleChannelPackage, "/package", "unknown package %q for channel %q: the channel has no package", "", c.Name)
	}
	if c.Name == "" {
		s.add(ruleChannelName, "/name", "package %q contains channel with no name", c.Package)
	}
	s.name("/name", c.Name)
	s.otherProperties(c.Properties)
	if len(c.Entries) == 0 {
		s.add(ruleChannelEntries, "/entries", "channel must contain at least one bundle: it has no entries")
		return
	}
	s.entries(c.Entries)
	var cycle []jsontext.Pointer // the cycle because of which there is no head
	for _, p := range graph.New(c.Entries).Check() {
		if p.Kind == graph.NoHead {
			cycle = p.At
		}
		rule, ok := graphRules[p.Kind]
		if !ok || p.Kind == graph.Cycle && slices.Equal(p.At, cycle) { // already reported
			continue
		}
		if p.Kind == graph.SeveralHeads && s.misnamedHeads(c.Entries, p) {
			continue
		}
		s.add(rule, p.At[0], "%s", p)
	}
}

func (s *scope) entries(entries []declcfg.Entry) {
	seen := make(map[string]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		at := place.Item("/entries", i)
		if e.Name == "" {
			s.add(ruleEntryName, at+"/name", "the entry has no name")
		} else if seen[e.Name] {
			s.add(ruleDuplicateEntry, at+"/name", "duplicate entry %q: it is already in the channel", e.Name)
		}
		seen[e.Name] = true
		if s.v.opts.WhiteSpace { // otherwise the name of its bundle is reported, or the missing bundle
			s.name(at+"/name", e.Name)
		}
		s.name(at+"/replaces", e.Replaces)
		for j, skip := range e.Skips {
			if skip == "" {
				s.add(ruleEmptySkip, place.Item(at+"/skips", j), "skip[%d] is empty: entry %q skips an empty name", j, e.Name)
			}
			s.name(place.Item(at+"/skips", j), skip)
		}
		if e.SkipRange == "" {
			continue
		}
		switch in, err := parseRange(e.SkipRange); {
		case err != nil:
			s.add(ruleSkipRange, at+"/skipRange", "invalid skipRange %q: entry %q: %v", e.SkipRange, e.Name, err)
		case in.Empty():
			s.add(ruleEmptyRange, at+"/skipRange", "no version is in skipRange %q of entry %q", e.SkipRange, e.Name)
		}
	}
}

// graphRules maps the problem kinds of package graph to rules. Upstream accepts a cycle that no replaces edge reaches.
var graphRules = map[graph.Kind]*problem.Rule{
	graph.NoHead:       ruleChannelHead,
	graph.SeveralHeads: ruleChannelHead,
	graph.Cycle:        ruleChannelCycle,
	graph.Stranded:     ruleChannelStranded,
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
		s.add(ruleChannelHead, place.Item("/entries", i)+"/replaces",
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

var channelRules = &problem.Group{Title: "Channels", Rules: []*problem.Rule{
	ruleChannelPackage, ruleChannelName, ruleDuplicateChannel, ruleChannelEntries, ruleEntryName, ruleDuplicateEntry,
	ruleEntryBundle, ruleChannelHead, ruleChannelCycle, ruleChannelStranded, ruleEmptySkip, ruleSkipRange,
	ruleEmptyRange, ruleSkipRangeSelf,
}}

var (
	ruleChannelPackage = &problem.Rule{Name: "channel-package", Severity: problem.Error,
		Summary: "a channel belongs to a package of the catalog",
		Reason:  "Upstream rejects channels of unknown packages.",
		Fix:     "correct the package, or add its olm.package"}
	ruleChannelName = &problem.Rule{Name: "channel-name", Severity: problem.Error,
		Summary: "a channel has a name",
		Reason:  "Subscriptions refer to channels by name.",
		Fix:     "give the channel a name"}
	ruleDuplicateChannel = &problem.Rule{Name: "duplicate-channel", Severity: problem.Error,
		Summary: "a channel is defined once in its package",
		Reason:  "Upstream rejects a second definition.",
		Fix:     "merge the two channels"}
	ruleChannelEntries = &problem.Rule{Name: "channel-entries", Severity: problem.Error,
		Summary: "a channel has entries",
		Reason:  "A channel without entries has no head to install.",
		Fix:     "add entries, or remove the channel"}
	ruleEntryName = &problem.Rule{Name: "entry-name", Severity: problem.Error,
		Summary: "an entry has the name of a bundle",
		Reason:  "An entry refers to its bundle by name.",
		Fix:     "name a bundle of the package, or remove the entry"}
	ruleDuplicateEntry = &problem.Rule{Name: "duplicate-entry", Severity: problem.Error,
		Summary: "a bundle is in a channel once",
		Reason:  "Two entries for one bundle may update different versions.",
		Fix:     "merge the two entries"}
	ruleEntryBundle = &problem.Rule{Name: "entry-bundle", Severity: problem.Error,
		Summary: "every entry of a channel has its bundle",
		Reason:  "An entry without a bundle cannot be installed. Upstream only checks the last channel of a package.",
		Fix:     "add the olm.bundle, or remove the entry"}
	ruleChannelHead = &problem.Rule{Name: "channel-head", Severity: problem.Error,
		Summary: "a channel has exactly one head",
		Reason: "The head, which no entry replaces or skips, is what new users get. Upstream rejects channels with none or " +
			"several.",
		Fix: "connect the entries by replaces or skips until only one is not replaced or skipped"}
	ruleChannelCycle = &problem.Rule{Name: "channel-cycle", Severity: problem.Error,
		Summary: "replaces does not form a cycle",
		Reason:  "Updates would never end.",
		Fix:     "remove one of the replaces"}
	ruleChannelStranded = &problem.Rule{Name: "channel-stranded", Severity: problem.Error,
		Summary: "following replaces from the head reaches every entry that is not skipped",
		Reason:  "Users of a stranded entry are never offered an update.",
		Fix:     "have an entry of the chain replace or skip them"}
	ruleEmptySkip = &problem.Rule{Name: "empty-skip", Severity: problem.Error,
		Summary: "skips holds names",
		Reason:  "Upstream rejects empty names in skips.",
		Fix:     "remove the empty name"}
	ruleSkipRange = &problem.Rule{Name: "skip-range", Severity: problem.Error,
		Summary: "a skipRange is a valid version range",
		Reason: "Upstream rejects ranges that it cannot parse. It supports comparisons joined by spaces and ||, and x as a " +
			"wildcard.",
		Fix: `write it like ">=1.0.0 <1.2.0"`}
	ruleEmptyRange = &problem.Rule{Name: "empty-range", Severity: problem.Warning,
		Summary: "a range of versions has a version in it",
		Reason: "A skipRange without versions does nothing, and nothing can meet such a requirement. Often two bounds are " +
			"swapped.",
		Fix: "correct the range"}
	ruleSkipRangeSelf = &problem.Rule{Name: "skip-range-self", Severity: problem.Warning,
		Summary: "a skipRange does not include the version of its own entry",
		Reason: "OLM Classic finds that the installed bundle updates itself, does nothing, and does not look at entries " +
			"further from the head.",
		Fix: "end the range below the version of the entry"}
)
