package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// mend sets the entries of the channel to those that are kept, with the edges that make the channel valid. Edges to
// entries that are not kept stay: they update what is installed. It returns what it changed.
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

// A mender mends a channel.
type mender struct {
	*keptChannel
	order   []*declcfg.Entry // as in the channel
	skipped map[string]bool  // what the head skips; nil before that is asked for
	changes []Change
}

func (m *mender) change(kind Kind, bundle, format string, args ...any) {
	m.changes = append(m.changes, Change{
		Kind: kind, Channel: m.graph.Name, Bundle: bundle, Message: fmt.Sprintf(format, args...),
	})
}

// chooseHead returns the first entry of the chain that is kept, or an entry outside of the chain with a higher version
// that neither an entry that is kept replaces or skips, nor OLM Classic updates to that first one. If none of the chain
// is kept, that is the highest version.
func (m *mender) chooseHead() string {
	chain := slices.DeleteFunc(names(chainOf(m.graph)), func(name string) bool { return !m.keep[name] })
	inChain, unnamed := setOf(chain), setOf(m.built().Heads())
	isHead := func(b *graph.Bundle) bool { return unnamed[b.Name] }
	var higher []*graph.Bundle // than the first of the chain, the highest first
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

// leadTo returns a function that reports whether OLM Classic updated a bundle to another one in the end, in the channel
// as it was.
func (m *mender) leadTo(to *graph.Bundle) func(*graph.Bundle) bool {
	plan, err := m.pkg.Classic(m.graph)
	known := map[*graph.Bundle]bool{to: true}
	return func(b *graph.Bundle) bool {
		var path []*graph.Bundle
		for ok := err == nil; ok; {
			if _, done := known[b]; done {
				break
			}
			known[b] = false // it stays so where updates end in a loop
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

// built returns the channel as it is so far.
func (m *mender) built() *graph.Channel {
	var all []declcfg.Entry
	for _, e := range m.order {
		all = append(all, *e)
	}
	return graph.New(all)
}

// closeGaps connects what is left of the chain. An entry that replaced one that is not kept skips that one instead, so
// that it is still updated.
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

// breakCycle removes the edge with which the chain leads back into itself, if there is one. opm accepts it if a part of
// the cycle is skipped, maybe by what is not kept; OLM never does.
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

// skip makes the head skip those of the entries that are not the head.
func (m *mender) skip(entries func(*graph.Channel) []string, why string) {
	for _, name := range entries(m.built()) {
		m.skipOne(name, why)
	}
}

func (m *mender) skipOne(name, why string) (changed bool) {
	head := m.entries[m.head]
	if m.skipped == nil {
		m.skipped = map[string]bool{m.head: true} // since it cannot skip itself
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

// keepUpdates makes the head skip what OLM Classic would no longer update to it, but would have updated to the head
// before: OLM ignores the edges of entries that are skipped.
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

// cut returns the package with nothing but the channel as it is so far.
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
