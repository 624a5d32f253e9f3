package filter

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// legacy returns the rule of oc-mirror v1. With a maximum, it keeps the versions within the bounds, including
// pre-releases. Without one, it keeps the minimum and all updates from it to the head. The versions must be valid.
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

// mustParse parses a version; "" is 0.0.0. It panics if the version is invalid.
func mustParse(text string) semver.Version {
	if text == "" {
		return semver.Version{}
	}
	v, err := semver.ParseTolerant(text)
	if err != nil {
		panic(err) // unreachable: the version was checked
	}
	return v
}

// between is the rule that keeps the versions within bounds.
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

// upFrom is the rule that keeps a bundle, the head, and the entries between them along replaces.
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

// pathTo returns an entry, the head, and the entries between them: every entry that replaces, directly or not, the
// first entry of the chain at or below the given one, except for the entries between these two.
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
		delete(replacedBy, queue[0]) // terminates in cycles
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
