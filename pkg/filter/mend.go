package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// mend sets the entries of the channel to the kept entries, with the edges that make the channel valid. It keeps edges
// to entries that are not kept, since they update installed bundles. It returns the changes.
func (c *keptChannel) mend() []Change {
	m := mender{keptChannel: c}
	c.entries = map[string]*declcfg.Entry{}
	for _, e := range c.graph.Entries() {
		if c.keep[e.Name] {
			e.Skips = slices.Clone(e.Skips)
			c.entries[e.Name] = &e
			m.order = append(m.order, &e)
		}
	}
	was := strings.Join(c.graph.Heads(), ", ")
	c.head = was
	if len(c.keep) < len(c.graph.Entries()) {
		if c.head = m.chooseHead(); c.head != was {
			m.change(HeadChanged, c.head, "the head is %q, was %q", c.head, was)
		}
		m.closeGaps()
		m.freeHead()
		m.breakCycle()
		m.skip((*graph.Channel).Heads, "nothing else would update it")
		m.skip((*graph.Channel).Stranded, "no update would lead from it to the head")
		m.keepUpdates()
	}
	return m.changes
}

// A mender repairs a channel after entries were removed.
type mender struct {
	*keptChannel
	order   []*declcfg.Entry // in the order of the channel
	skipped map[string]bool  // the entries that the head skips; nil until first used
	changes []Change
}

func (m *mender) change(kind Kind, bundle, format string, args ...any) {
	m.changes = append(m.changes, Change{
		Kind: kind, Channel: m.graph.Name, Bundle: bundle, Message: fmt.Sprintf(format, args...),
	})
}

// chooseHead returns the first kept entry of the chain, or an entry outside of the chain with a higher version that no
// kept entry replaces or skips, and that OLM Classic does not update to the first kept entry. If no entry of the chain
// is kept, it returns the highest version, preferably one that no kept entry replaces or skips.
func (m *mender) chooseHead() string {
	chain := slices.DeleteFunc(names(chainOf(m.graph)), func(name string) bool { return !m.keep[name] })
	inChain, unnamed := setOf(chain), setOf(m.built().Heads())
	isHead := func(b *graph.Bundle) bool { return unnamed[b.Name] }
	var higher []*graph.Bundle // kept bundles above the first of the chain, the highest first
	for _, b := range slices.Backward(m.pkg.Bundles) {
		if len(chain) > 0 && b.Name == chain[0] {
			break
		}
		if m.keep[b.Name] && !inChain[b.Name] {
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
	leads := m.leadTo(m.pkg.Bundle(chain[0]))
	i = slices.IndexFunc(higher, func(b *graph.Bundle) bool { return isHead(b) && !leads(b) })
	if i < 0 {
		return chain[0]
	}
	return higher[i].Name
}

// leadTo returns a function that reports whether the updates of a bundle by OLM Classic lead to another bundle, in the
// original channel.
func (m *mender) leadTo(to *graph.Bundle) func(*graph.Bundle) bool {
	plan, err := m.pkg.Classic(m.graph)
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

// built returns the channel in its current state.
func (m *mender) built() *graph.Channel {
	var all []declcfg.Entry
	for _, e := range m.order {
		all = append(all, *e)
	}
	return graph.New(all)
}

// closeGaps connects the kept entries of the chain. If an entry replaced an entry that is not kept, it skips that entry
// instead, so that it is still updated.
func (m *mender) closeGaps() {
	chain := slices.DeleteFunc(names(downFrom(m.graph, m.head)), func(name string) bool { return !m.keep[name] })
	named := map[string]bool{}
	for _, e := range m.order {
		named[e.Replaces] = true
		for _, skip := range e.Skips {
			named[skip] = true
		}
	}
	for i := range max(0, len(chain)-1) {
		e, next := m.entries[chain[i]], chain[i+1]
		if named[next] {
			continue
		}
		was := e.Replaces
		e.Replaces = next
		if was == "" || slices.Contains(e.Skips, was) {
			m.change(ReplacesChanged, e.Name, "%q replaces %q, was %q", e.Name, next, was)
			continue
		}
		e.Skips = append(e.Skips, was)
		m.change(ReplacesChanged, e.Name, "%q replaces %q and skips %q, which it replaced", e.Name, next, was)
	}
}

// freeHead removes the edges to the head.
func (m *mender) freeHead() {
	for _, e := range m.order {
		if e.Replaces == m.head {
			e.Replaces = ""
			m.change(ReplacesChanged, e.Name, "%q no longer replaces the head %q", e.Name, m.head)
		}
		if slices.Contains(e.Skips, m.head) {
			e.Skips = slices.DeleteFunc(e.Skips, func(skip string) bool { return skip == m.head })
			m.change(SkipsChanged, e.Name, "%q no longer skips the head %q", e.Name, m.head)
		}
	}
}

// breakCycle removes the edge with which the chain leads back into itself, if there is one. opm accepts such a cycle if
// a part of it is skipped, even by an entry that is not kept; OLM never does.
func (m *mender) breakCycle() {
	reached := map[string]bool{}
	for e := m.entries[m.head]; e != nil; e = m.entries[e.Replaces] {
		reached[e.Name] = true
		if reached[e.Replaces] {
			m.change(ReplacesChanged, e.Name, "%q no longer replaces %q, which leads back to it", e.Name, e.Replaces)
			e.Replaces = ""
		}
	}
}

// skip makes the head skip the entries returned by entries, except for the head itself.
func (m *mender) skip(entries func(*graph.Channel) []string, why string) {
	for _, name := range entries(m.built()) {
		m.skipOne(name, why)
	}
}

func (m *mender) skipOne(name, why string) (changed bool) {
	head := m.entries[m.head]
	if m.skipped == nil {
		m.skipped = map[string]bool{m.head: true} // the head cannot skip itself
		for _, skip := range head.Skips {
			m.skipped[skip] = true
		}
	}
	if m.skipped[name] {
		return false
	}
	m.skipped[name] = true
	head.Skips = append(head.Skips, name)
	m.change(SkipsChanged, m.head, "%q skips %q too, since %s", m.head, name, why)
	return true
}

// keepUpdates makes the head skip the entries that OLM Classic updated to the head before, but would not update to it
// now: OLM ignores the edges of skipped entries.
func (m *mender) keepUpdates() {
	if len(m.order) == 1 {
		return
	}
	before, err := m.pkg.Classic(m.graph)
	for changed := err == nil; changed; {
		changed = false
		p := m.cut()
		after, _ := p.Classic(p.Channels[0])
		for _, e := range m.order {
			if before.Reaches(m.pkg.Bundle(e.Name)) && !after.Reaches(p.Bundle(e.Name)) {
				changed = m.skipOne(e.Name, "OLM Classic would not update it to the head") || changed
			}
		}
	}
}

// cut returns the package with only the channel, in its current state.
func (m *mender) cut() *graph.Package {
	x := &declcfg.PackageIndex{Name: m.pkg.Name}
	for _, b := range m.index.Bundles {
		if m.keep[b.Meta.Name] {
			x.Bundles = append(x.Bundles, b)
		}
	}
	c := &declcfg.Channel{Name: m.graph.Name, Entries: m.built().Entries()}
	x.Channels = []declcfg.Indexed[declcfg.Channel]{{Value: c}}
	return graph.NewPackage(x)
}
