package impact

import (
	"reflect"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// Updates are the updates to a new bundle in a channel.
type Updates struct {
	Channel string            `json:"channel"`
	OLM     []graph.Semantics `json:"olm"`

	// From are the bundles that are updated to the new bundle, directly or in several steps, by version.
	From []string `json:"from"`

	// Not are the other bundles of the channel, also in the catalog before, whose version is not higher.
	Not []Stay `json:"not"`

	Error string `json:"error,omitempty"` // the error if OLM Classic rejects the channel; then the lists are empty
}

// A Stay is a bundle that is not updated to a new bundle.
type Stay struct {
	Bundle string `json:"bundle"`
	End    string `json:"end"` // the last bundle that it is updated to, or the bundle itself; "" in an update loop

	Error string `json:"error,omitempty"` // the error that OLM reports about the end
}

// updatesTo returns the updates to a bundle in each channel that has it. Equal updates in both versions of OLM are one
// element. old is the package in the catalog before.
func updatesTo(old, p *graph.Package, to *graph.Bundle) []Updates {
	all := []Updates{}
	for _, name := range channelsOf(p, to) {
		c := p.Channel(name)
		from := installsOf(old, p, c)
		classic, err := p.Classic(c) // not Plans, which has members of the channel only
		v1 := p.V1(graph.V1Options{Channels: []*graph.Channel{c}})
		other := updatesIn(name, from, v1, to)
		if err != nil {
			refused := Updates{Channel: name, OLM: []graph.Semantics{graph.Classic}, From: []string{}, Not: []Stay{}}
			refused.Error = err.Error()
			all = append(all, refused, other)
			continue
		}
		one := updatesIn(name, from, classic, to)
		if reflect.DeepEqual(one.From, other.From) && reflect.DeepEqual(one.Not, other.Not) {
			one.OLM = append(one.OLM, other.OLM...)
			all = append(all, one)
		} else {
			all = append(all, one, other)
		}
	}
	return all
}

// installsOf returns the bundles that users of a channel may have installed, by version: its members, now and in the
// package before.
func installsOf(old, p *graph.Package, c *graph.Channel) []*graph.Bundle {
	isMember := map[string]bool{}
	add := func(c *graph.Channel) {
		for _, b := range c.Members() {
			isMember[b.Name] = true
		}
	}
	add(c)
	if before := old.Channel(c.Name); before != nil {
		add(before)
	}
	return slices.DeleteFunc(slices.Clone(p.Bundles), func(b *graph.Bundle) bool { return !isMember[b.Name] })
}

func updatesIn(channel string, from []*graph.Bundle, plan *graph.Plan, to *graph.Bundle) Updates {
	u := Updates{Channel: channel, OLM: []graph.Semantics{plan.Semantics}, From: []string{}, Not: []Stay{}}
	for _, b := range from {
		isHigher := b.Version != nil && to.Version != nil && b.Version.Compare(*to.Version) > 0
		switch reaches, stay := follow(plan, b, to); {
		case b == to:
		case reaches:
			u.From = append(u.From, b.Name)
		case !isHigher:
			u.Not = append(u.Not, stay)
		}
	}
	return u
}

// follow reports whether the updates of a bundle reach the bundle to, and returns their end.
func follow(plan *graph.Plan, b, to *graph.Bundle) (reaches bool, stay Stay) {
	steps, loop := plan.Path(b)
	end := b
	for _, s := range steps {
		reaches = reaches || s.To == to
		end = s.To
	}
	if loop {
		return reaches, Stay{Bundle: b.Name}
	}
	stay = Stay{Bundle: b.Name, End: end.Name}
	if err := plan.Err(end); err != nil {
		stay.Error = err.Error()
	}
	return reaches, stay
}
