package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Order returns the entries of a channel that OLM Classic offers, from the head to the tail.
//
// Order follows replaces from the head, including through skipped entries, which it omits from the result. Entries that
// are only skipped or only in a skipRange are therefore not in the order, and versions do not matter. The error is the
// error of OLM for a channel that it rejects: no head, a cycle, or more than one chain.
func (c *Channel) Order() ([]string, error) {
	order, err := c.order()
	return c.names(order), err
}

func (c *Channel) order() ([]int, error) {
	heads := c.heads()
	if len(heads) == 0 {
		return nil, fmt.Errorf("no channel heads (entries not replaced by another entry) found in channel %q of package %q",
			c.Name, c.Package)
	}
	tails := c.tails(heads)
	for i, head := range heads {
		if tails[i] == none {
			return nil, fmt.Errorf("a cycle exists in the chain of replacement beginning with %q in channel %q of package %q",
				c.entries[head].Name, c.Name, c.Package)
		}
	}
	if len(heads) > 1 {
		words := c.names(heads)
		for i, tail := range tails {
			if tail != heads[i] {
				words[i] += "..." + c.entries[tail].Name
			}
		}
		return nil, fmt.Errorf("a unique replacement chain within a channel is required to determine the relative order "+
			"between channel entries, but %d replacement chains were found in channel %q of package %q: %s",
			len(heads), c.Name, c.Package, strings.Join(words, ", "))
	}
	var order []int
	for i := heads[0]; i != none; i = c.next[i] {
		if !c.skipped[i] {
			order = append(order, i)
		}
	}
	return order, nil
}

// tails returns the last entry of the chain of each head that is not skipped, or none if the chain leads into a cycle.
// Parts that several chains share are followed only once.
func (c *Channel) tails(heads []int) []int {
	const unknown, end = none - 1, none - 2
	tail := slices.Repeat([]int{unknown}, len(c.entries)) // by node; none while the chain from the node is being followed
	tails := make([]int, len(heads))
	for h, head := range heads {
		var path []int
		i := head
		for ; i != none && tail[i] == unknown; i = c.next[i] {
			tail[i] = none
			path = append(path, i)
		}
		last := end
		if i != none {
			last = tail[i]
		}
		for _, j := range slices.Backward(path) {
			if last == end && !c.skipped[j] {
				last = j
			}
			tail[j] = last
		}
		tails[h] = tail[head] // never the value end, since a head is not skipped
	}
	return tails
}

// Classic returns the updates of OLM Classic for a subscription to the channel: an installed bundle is updated to the
// entry of [Channel.Order] nearest the head that replaces or skips it, or has its version in its skipRange. If the
// nearest such entry is the installed bundle itself, because its skipRange includes its own version, it is not updated.
// A Prohibited bundle is never installed; if one is already installed, it must be updated, or OLM updates no bundle in
// the namespace.
//
// If the channel is nil, the subscription names no channel: the entries of the default channel come first, then the
// entries of the other channels by name, byte by byte.
//
// The documentation of OLM gives four rules of precedence, in which the skipRange of the head comes before replaces.
// The implementation is more general: any entry in the order may update by its skipRange, and the distance to the head
// decides, not the kind of edge. OLM uses only the catalog source of the subscription.
//
// The channel must be one of p. The error is the error of Order; the Plan then has it for every bundle.
func (p *Package) Classic(c *Channel) (*Plan, error) {
	bundles := p.Bundles
	if c != nil {
		bundles = p.updatable(c)
	}
	return p.classic(c, bundles)
}

// classic plans the updates of bundles, which must include the members of the channel, or of all channels if the
// channel is nil.
func (p *Package) classic(c *Channel, bundles []*Bundle) (*Plan, error) {
	planner := newPlanner(Classic, p, bundles)
	for _, c := range p.subscribed(c) {
		order, err := c.order()
		if err != nil {
			refused := newPlanner(Classic, p, bundles)
			refused.plan.refused = err
			return refused.finish(), err
		}
		for _, i := range order {
			planner.claimEntry(c, i)
		}
	}
	plan := planner.finish()
	if c == nil && plan.goal != nil { // other channels may update the head of the default channel
		plan.goal, _, _ = plan.End(plan.goal)
	}
	return plan, nil
}

// subscribed returns the channels that a subscription uses, the preferred channel first: only c or, if c is nil, all.
func (p *Package) subscribed(c *Channel) []*Channel {
	if c != nil {
		return []*Channel{c}
	}
	channels := slices.Clone(p.Channels)
	slices.SortStableFunc(channels, func(a, b *Channel) int { // in the order of OLM, unlike Channels
		return cmp.Or(p.DefaultFirst(a.Name, b.Name), cmp.Compare(a.Name, b.Name))
	})
	return channels
}

// DefaultFirst compares the names of two channels: the default channel is less than the others, which are equal.
func (p *Package) DefaultFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == p.DefaultChannel:
		return -1
	case b == p.DefaultChannel:
		return 1
	}
	return 0
}
