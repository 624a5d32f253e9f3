package filter

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// legacy returns the rule of oc-mirror v1. With a maximum, it keeps the versions within the bounds, pre-releases
// included; without one, the minimum and all updates from it to the head. The versions must be valid.
func (b bounds) legacy() Rule {
	least, highest := mustParse(b.MinVersion), mustParse(b.MaxVersion)
	switch {
	case b.MaxVersion != "":
		return &between{b, least, highest}
	case b.MinVersion != "":
		return &upFrom{least.String(), func(bundle *graph.Bundle) bool {
			return bundle.Version != nil && bundle.Version.Semver.Equals(least)
		}}
	}
	return &upFrom{b.MinBundle, func(bundle *graph.Bundle) bool { return bundle.Name == b.MinBundle }}
}

// mustParse parses a version; "" is 0.0.0.
func mustParse(text string) semver.Version {
	if text == "" {
		return semver.Version{}
	}
	v, err := semver.ParseTolerant(text)
	if err != nil {
		panic(err) // it was checked
	}
	return v
}

// between keeps the versions within bounds.
type between struct {
	bounds
	least, highest semver.Version
}

func (r *between) String() string {
	if r.MinVersion == "" {
		return fmt.Sprintf("is at most %s", r.MaxVersion)
	}
	return fmt.Sprintf("is between %s and %s", r.MinVersion, r.MaxVersion)
}

func (r *between) contains(v declcfg.Version) bool {
	return (r.MinVersion == "" || v.Semver.GTE(r.least)) && v.Semver.LTE(r.highest)
}

func (r *between) keep(p *graph.Package, c *graph.Channel) []string {
	return slices.DeleteFunc(names(c.Entries()), func(name string) bool { return !isWanted(r, p, name) })
}

// upFrom keeps a bundle, the head, and what leads from one to the other by replaces.
type upFrom struct {
	text string // a version, or the name of a bundle
	is   func(*graph.Bundle) bool
}

func (r *upFrom) String() string                { return "is " + r.text }
func (r *upFrom) contains(declcfg.Version) bool { return true }

func (r *upFrom) keep(p *graph.Package, c *graph.Channel) []string {
	var kept []string
	for _, e := range c.Entries() {
		if r.is(p.Bundle(e.Name)) {
			kept = append(kept, pathTo(c, e.Name)...)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// pathTo returns an entry, the head, and every entry that replaces, directly or not, the first one below it that the
// head replaces likewise, apart from those between it and the entry.
func pathTo(c *graph.Channel, name string) []string {
	below, chain := names(downFrom(c, name)), names(chainOf(c))
	inChain := setOf(chain)
	meet := slices.IndexFunc(below, func(name string) bool { return inChain[name] })
	path := append([]string{name}, chain[:min(1, len(chain))]...)
	if meet < 0 {
		return path
	}
	replacedBy := map[string][]string{}
	for _, e := range c.Entries() {
		replacedBy[e.Replaces] = append(replacedBy[e.Replaces], e.Name)
	}
	isBelow := setOf(below)
	for queue := []string{below[meet]}; len(queue) > 0; queue = queue[1:] {
		for _, above := range replacedBy[queue[0]] {
			queue = append(queue, above)
			if !isBelow[above] {
				path = append(path, above)
			}
		}
		delete(replacedBy, queue[0]) // where there are cycles
	}
	return path
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}
