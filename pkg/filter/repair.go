package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// repair sets the entries of the channel to the kept entries, with the edges that make the channel valid. It keeps
// edges to entries that are not kept, since they update installed bundles. It returns the changes.
func (c *keptChannel) repair() []Change {
	r := repairer{keptChannel: c}
	c.entries = map[string]*declcfg.Entry{}
	for _, e := range c.graph.Entries() {
		if c.keep[e.Name] {
			e.Skips = slices.Clone(e.Skips)
			c.entries[e.Name] = &e
			r.order = append(r.order, &e)
		}
	}
	was := strings.Join(c.graph.Heads(), ", ")
	c.head = was
	if len(c.keep) < len(c.graph.Entries()) {
		if c.head = r.chooseHead(); c.head != was {
			r.change(HeadChanged, c.head, "the head is %q, was %q", c.head, was)
		}
		r.closeGaps()
		for _, e := range r.order {
			if e.Replaces == r.head {
				e.Replaces = ""
				r.change(ReplacesChanged, e.Name, "%q no longer replaces the head %q", e.Name, r.head)
			}
			if slices.Contains(e.Skips, r.head) {
				e.Skips = slices.DeleteFunc(e.Skips, func(skip string) bool { return skip == r.head })
				r.change(SkipsChanged, e.Name, "%q no longer skips the head %q", e.Name, r.head)
			}
		}
		// Remove the edge that closes a cycle in the chain, if there is one. opm accepts such a cycle if a part of it
		// is skipped, even by an entry that is not kept; OLM never accepts it.
		reached := map[string]bool{}
		for e := r.entries[r.head]; e != nil; e = r.entries[e.Replaces] {
			reached[e.Name] = true
			if reached[e.Replaces] {
				r.change(ReplacesChanged, e.Name, "%q no longer replaces %q, which leads back to it", e.Name, e.Replaces)
				e.Replaces = ""
			}
		}
		r.skip((*graph.Channel).Heads, "nothing else would update it")
		r.skip((*graph.Channel).Stranded, "no update would lead from it to the head")
		r.keepUpdates()
	}
	return r.changes
}

// A repairer repairs a channel after entries were removed.
type repairer struct {
	*keptChannel
	order   []*declcfg.Entry // in the order of the channel
	skipped map[string]bool  // the entries that the head skips; nil until first used
	changes []Change
}

func (r *repairer) change(kind Kind, bundle, format string, args ...any) {
	r.changes = append(r.changes, Change{
		Kind: kind, Channel: r.graph.Name, Bundle: bundle, Message: fmt.Sprintf(format, args...),
	})
}

// chooseHead returns the first kept entry of the chain, or an entry outside of the chain with a higher version that no
// kept entry replaces or skips, and that OLM Classic does not update to the first kept entry. If no entry of the chain
// is kept, it returns the highest version, preferably one that no kept entry replaces or skips.
func (r *repairer) chooseHead() string {
	chain := slices.DeleteFunc(names(chainOf(r.graph)), func(name string) bool { return !r.keep[name] })
	inChain, unnamed := setOf(chain), setOf(r.built().Heads())
	isHead := func(b *graph.Bundle) bool { return unnamed[b.Name] }
	var higher []*graph.Bundle // kept bundles above the first of the chain, the highest first
	for _, b := range slices.Backward(r.pkg.Bundles) {
		if len(chain) > 0 && b.Name == chain[0] {
			break
		}
		if r.keep[b.Name] && !inChain[b.Name] {
			higher = append(higher, b)
		}
	}
	i := slices.IndexFunc(higher, isHead)
	switch {
	case len(chain) == 0:
		return higher[max(i, 0)].Name
	case i < 0:
		return chain[0]
	}
	leads := r.leadTo(r.pkg.Bundle(chain[0]))
	i = slices.IndexFunc(higher, func(b *graph.Bundle) bool { return isHead(b) && !leads(b) })
	if i < 0 {
		return chain[0]
	}
	return higher[i].Name
}

// leadTo returns a function that reports whether OLM Classic updates a bundle to the bundle to, directly or indirectly,
// in the original channel.
func (r *repairer) leadTo(to *graph.Bundle) func(*graph.Bundle) bool {
	plan, err := r.pkg.Classic(r.graph)
	known := map[*graph.Bundle]bool{to: true}
	return func(b *graph.Bundle) bool {
		var path []*graph.Bundle
		for ok := err == nil; ok; {
			if _, done := known[b]; done {
				break
			}
			known[b] = false // remains false if updates end in a loop
			path = append(path, b)
			var step graph.Step
			if step, ok = plan.Next(b); ok {
				b = step.To
			}
		}
		for _, before := range path {
			known[before] = known[b]
		}
		return known[b]
	}
}

// built returns the graph of the channel with the current edges.
func (r *repairer) built() *graph.Channel {
	var all []declcfg.Entry
	for _, e := range r.order {
		all = append(all, *e)
	}
	return graph.New(all)
}

// closeGaps connects the kept entries of the chain. If an entry replaced an entry that is not kept, it skips that entry
// instead, so that it is still updated.
func (r *repairer) closeGaps() {
	chain := slices.DeleteFunc(names(downFrom(r.graph, r.head)), func(name string) bool { return !r.keep[name] })
	named := map[string]bool{}
	for _, e := range r.order {
		named[e.Replaces] = true
		for _, skip := range e.Skips {
			named[skip] = true
		}
	}
	for i := range max(0, len(chain)-1) {
		e, next := r.entries[chain[i]], chain[i+1]
		if named[next] {
			continue
		}
		was := e.Replaces
		e.Replaces = next
		if was == "" || slices.Contains(e.Skips, was) {
			r.change(ReplacesChanged, e.Name, "%q replaces %q, was %q", e.Name, next, was)
			continue
		}
		e.Skips = append(e.Skips, was)
		r.change(ReplacesChanged, e.Name, "%q replaces %q and skips %q, which it replaced", e.Name, next, was)
	}
}

// skip makes the head skip the entries returned by entries, except for the head itself.
func (r *repairer) skip(entries func(*graph.Channel) []string, why string) {
	for _, name := range entries(r.built()) {
		r.skipOne(name, why)
	}
}

func (r *repairer) skipOne(name, why string) (changed bool) {
	head := r.entries[r.head]
	if r.skipped == nil {
		r.skipped = map[string]bool{r.head: true} // the head cannot skip itself
		for _, skip := range head.Skips {
			r.skipped[skip] = true
		}
	}
	if r.skipped[name] {
		return false
	}
	r.skipped[name] = true
	head.Skips = append(head.Skips, name)
	r.change(SkipsChanged, r.head, "%q skips %q too, since %s", r.head, name, why)
	return true
}

// keepUpdates makes the head skip the entries that OLM Classic updated to the head before, but would not update to it
// now: OLM ignores the edges of skipped entries.
func (r *repairer) keepUpdates() {
	if len(r.order) == 1 {
		return
	}
	before, err := r.pkg.Classic(r.graph)
	for changed := err == nil; changed; {
		changed = false
		x := &declcfg.PackageIndex{Name: r.pkg.Name}
		for _, b := range r.index.Bundles {
			if r.keep[b.Meta.Name] {
				x.Bundles = append(x.Bundles, b)
			}
		}
		c := &declcfg.Channel{Name: r.graph.Name, Entries: r.built().Entries()}
		x.Channels = []declcfg.Indexed[declcfg.Channel]{{Value: c}}
		p := graph.NewPackage(x)
		after, _ := p.Classic(p.Channels[0])
		for _, e := range r.order {
			if before.Reaches(r.pkg.Bundle(e.Name)) && !after.Reaches(p.Bundle(e.Name)) {
				changed = r.skipOne(e.Name, "OLM Classic would not update it to the head") || changed
			}
		}
	}
}
