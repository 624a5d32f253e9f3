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
	chain := slices.DeleteFunc(names(chainOf(c.graph)), func(name string) bool { return !c.keep[name] })
	c.head = m.highest()
	if len(chain) > 0 {
		c.head = chain[0]
	}
	if was := strings.Join(c.graph.Heads(), ", "); was != c.head {
		m.change(HeadChanged, c.head, "the head is %q, was %q", c.head, was)
	}
	if len(c.keep) < len(c.graph.Entries()) {
		m.closeGaps(chain)
		m.freeHead()
		m.skip((*graph.Channel).Heads, "nothing else would update it")
		m.skip((*graph.Channel).Stranded, "no update would lead from it to the head")
	}
	return m.changes
}

// A mender mends a channel.
type mender struct {
	*keptChannel
	order   []*declcfg.Entry // as in the channel
	changes []Change
}

func (m *mender) change(kind Kind, bundle, format string, args ...any) {
	m.changes = append(m.changes, Change{
		Kind: kind, Channel: m.graph.Name, Bundle: bundle, Message: fmt.Sprintf(format, args...),
	})
}

// highest returns the kept entry with the highest version.
func (m *mender) highest() string {
	for _, b := range slices.Backward(m.pkg.Bundles) {
		if m.keep[b.Name] {
			return b.Name
		}
	}
	return m.order[0].Name
}

// closeGaps connects what is left of the chain. An entry that replaced one that is not kept skips that one instead, so
// that it is still updated.
func (m *mender) closeGaps(chain []string) {
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

// skip makes the head skip those of the entries that are not the head.
func (m *mender) skip(entries func(*graph.Channel) []string, why string) {
	var all []declcfg.Entry
	for _, e := range m.order {
		all = append(all, *e)
	}
	head := m.entries[m.head]
	for _, name := range entries(graph.New(all)) {
		if name != m.head {
			head.Skips = append(head.Skips, name)
			m.change(SkipsChanged, m.head, "%q skips %q too, since %s", m.head, name, why)
		}
	}
}
