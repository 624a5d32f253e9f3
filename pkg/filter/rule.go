package filter

import (
	"fmt"
	"slices"

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

// InRange keeps the part of the chain between the highest and the lowest version in a range, including versions out of
// the range between them, and the versions in the range that this part skips. If an entry out of the range skips more
// versions in it than the next entry, the part starts with that entry.
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
