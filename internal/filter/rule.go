package filter

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Rule selects the entries of a channel to keep.
type Rule interface {
	// keep returns the names of the entries to keep, each once, or nil if the rule selects none.
	keep(p *graph.Package, c *graph.Channel) []string

	// contains reports whether the rule selects a version.
	contains(v declcfg.Version) bool

	// String returns a phrase that completes the subject "no version".
	String() string
}

// The rules without a range.
var (
	Heads Rule = heads{} // keeps the head
	All   Rule = all{}   // keeps every entry
)

// InRange keeps the part of the chain from the highest to the lowest version in a range, including versions between
// them that are not in the range, and the versions in the range that this part skips. If an entry outside of the range
// skips more versions in the range than the next entry, the part starts with that entry.
func InRange(versions *graph.Constraint) Rule { return inRange{versions} }

type heads struct{}

func (heads) String() string                                   { return "is the head of a channel" }
func (heads) contains(declcfg.Version) bool                    { return true }
func (heads) keep(_ *graph.Package, c *graph.Channel) []string { return c.Heads() }

type all struct{}

func (all) String() string                { return "is in a channel" }
func (all) contains(declcfg.Version) bool { return true }

func (all) keep(_ *graph.Package, c *graph.Channel) []string { return names(c.Entries()) }

type inRange struct{ versions *graph.Constraint }

func (r inRange) String() string                  { return fmt.Sprintf("satisfies %q", r.versions) }
func (r inRange) contains(v declcfg.Version) bool { return r.versions.Contains(v.Semver) }

func (r inRange) keep(p *graph.Package, c *graph.Channel) []string {
	chain := chainOf(c)
	counts := make([]int, len(chain)) // number of versions in the range: the entry, its skips, and all below
	wanted := map[string]bool{}
	for i, e := range slices.Backward(chain) {
		for _, name := range append([]string{e.Name}, e.Skips...) {
			if inChannel(c, name) && isWanted(r, p, name) {
				wanted[name] = true
			}
		}
		counts[i] = len(wanted)
	}
	var kept []string
	for i, e := range chain {
		if counts[i] == 0 || i+1 < len(chain) && counts[i+1] == counts[0] {
			continue
		}
		kept = append(kept, e.Name)
		for _, name := range e.Skips {
			if wanted[name] {
				kept = append(kept, name)
			}
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// isWanted reports whether the rule selects the version of a bundle.
func isWanted(r Rule, p *graph.Package, name string) bool {
	b := p.Bundle(name)
	return b != nil && b.Version != nil && r.contains(*b.Version)
}

func inChannel(c *graph.Channel, name string) bool {
	_, ok := c.Entry(name)
	return ok
}

// chainOf returns the head and, in order, the entries reached from it by replaces. Unlike [graph.Channel.Chain], it
// continues after skipped entries.
func chainOf(c *graph.Channel) []declcfg.Entry {
	heads := c.Heads()
	if len(heads) == 0 {
		return nil
	}
	return downFrom(c, heads[0])
}

// downFrom returns an entry and, in order, the entries reached from it by replaces.
func downFrom(c *graph.Channel, name string) []declcfg.Entry {
	var chain []declcfg.Entry
	reached := map[string]bool{}
	for {
		e, ok := c.Entry(name)
		if !ok || reached[name] {
			return chain
		}
		reached[name] = true
		chain = append(chain, e)
		name = e.Replaces
	}
}

func names(entries []declcfg.Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
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

// upFrom is the rule that keeps a bundle, the head, and the entries between them in the chain of replaces.
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

// pathTo returns an entry, the head, and the entries between them: every entry that directly or indirectly replaces the
// first entry of the chain at or below the given entry, except for the entries between these two.
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
