package graph

import (
	"fmt"
	"strings"
)

// Order returns the entries of a channel that OLM Classic offers, from the head to the tail.
//
// It follows replaces from the head, also through skipped entries, which it does not return. So entries that are only
// skipped, or only in a skipRange, are not in the order, and versions do not matter. The error is the one by which OLM
// rejects the channel: no head, a cycle, or more than one chain.
func (c *Channel) Order() ([]string, error) {
	order, err := c.order()
	return c.names(order), err
}

func (c *Channel) order() ([]int, error) {
	heads := c.heads()
	if len(heads) == 0 {
		return nil, fmt.Errorf("no channel heads (entries not replaced by another entry) found in channel %q", c.Name)
	}
	var chains [][]int
	for _, head := range heads {
		chain, ok := c.walk(head)
		if !ok {
			return nil, fmt.Errorf("a cycle exists in the chain of replacement beginning with %q in channel %q",
				c.entries[head].Name, c.Name)
		}
		chains = append(chains, chain)
	}
	if len(chains) > 1 {
		return nil, fmt.Errorf("a unique replacement chain within a channel is required to determine the relative order "+
			"between channel entries, but %d replacement chains were found in channel %q: %s", len(chains), c.Name,
			c.describe(chains))
	}
	return chains[0], nil
}

// walk follows replaces and returns the entries that are not skipped, or false if it meets a cycle.
func (c *Channel) walk(head int) ([]int, bool) {
	var chain []int
	seen := make(map[int]bool)
	for i := head; i != none; i = c.next[i] {
		if seen[i] {
			return nil, false
		}
		seen[i] = true
		if !c.skipped[i] {
			chain = append(chain, i)
		}
	}
	return chain, true
}

// describe writes chains as FIRST...LAST.
func (c *Channel) describe(chains [][]int) string {
	var words []string
	for _, chain := range chains {
		names := c.names(chain)
		switch len(names) {
		case 0:
			words = append(words, "[]")
		case 1:
			words = append(words, names[0])
		default:
			words = append(words, names[0]+"..."+names[len(names)-1])
		}
	}
	return strings.Join(words, ", ")
}

// Classic returns the updates of OLM Classic for a subscription to the channel: an installed bundle is updated to the
// entry of [Channel.Order] nearest the head that replaces or skips it, or has its version in its skipRange.
//
// The documentation of OLM gives four rules of precedence, in which the skipRange of the head comes before replaces.
// OLM is more general: any entry in the order may update by its skipRange, and the distance to the head decides, not
// the kind of edge. OLM looks at the catalog source of the subscription only.
//
// The channel must be one of p. The error is that of Order; the Plan has no updates then.
func (p *Package) Classic(c *Channel) (*Plan, error) {
	planner := newPlanner(Classic, p)
	order, err := c.order()
	if err != nil {
		return planner.finish(), err
	}
	for _, i := range order {
		planner.claimEntry(c, i)
	}
	return planner.finish(), nil
}
