package graph

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

func randomPackages(t *testing.T, n int, test func(t *testing.T, graph string, p *Package)) {
	t.Helper()
	for seed := range n {
		graph := graphtest.Random(rand.New(rand.NewPCG(uint64(seed), 1)))
		if p := packageOf(t, graph); len(p.Channels) > 0 {
			test(t, fmt.Sprintf("graph %d:\n%s", seed, graph), p)
		}
		if t.Failed() {
			return
		}
	}
}

// covers reports whether the entry for to in the channel has an edge to from. It tests each kind of edge.
func covers(c *Channel, to, from *Bundle) bool {
	e, ok := c.Entry(to.Name)
	if !ok {
		return false
	}
	r, err := ParseRange(e.SkipRange)
	return e.Replaces == from.Name || slices.Contains(e.Skips, from.Name) ||
		err == nil && from.Version != nil && r.Contains(from.Version.Semver)
}

// TestPlanIsThatOfBruteForce compares each plan with one that tests every candidate for every installed bundle.
func TestPlanIsThatOfBruteForce(t *testing.T) {
	randomPackages(t, shared.Number(5000, 500), func(t *testing.T, graph string, p *Package) {
		for _, c := range append(slices.Clone(p.Channels), nil) {
			plan, err := p.Classic(c)
			type candidate struct {
				channel *Channel
				bundle  *Bundle
			}
			var candidates []candidate
			var orderErr error
			for _, c := range p.subscribed(c) {
				order, err := c.Order()
				orderErr = cmp.Or(orderErr, err)
				for _, name := range order {
					candidates = append(candidates, candidate{c, p.Bundle(name)})
				}
			}
			if err != orderErr && err.Error() != orderErr.Error() {
				t.Errorf("%s%v, and %v", graph, err, orderErr)
			}
			for _, b := range p.Bundles {
				var want *Bundle
				for _, to := range candidates {
					if err == nil && !to.bundle.Prohibited && covers(to.channel, to.bundle, b) {
						want = to.bundle
						break
					}
				}
				wantErr := err != nil || want == nil && b.Prohibited
				if want == b {
					want = nil
				}
				if s, _ := plan.Next(b); s.To != want || (plan.Err(b) != nil) != wantErr {
					t.Errorf("%sclassic: %s -> %v, want %v; error %v, want one: %t", graph, b.Name, s.To, want, plan.Err(b), wantErr)
				}
			}
		}
		for _, channels := range [][]*Channel{nil, p.Channels[:1]} {
			o := V1Options{Channels: channels, Releases: len(p.Bundles)%2 == 0}
			plan := p.V1(o)
			for _, b := range p.Bundles {
				want := bruteV1(p, o, b)
				wantErr := want == nil || want.Dependency != ""
				if wantErr || want == b {
					want = nil
				}
				if s, _ := plan.Next(b); s.To != want || (plan.Err(b) != nil) != wantErr {
					t.Errorf("%sv1 in %d channels: %s -> %v, want %v; error %v, want one: %t", graph, len(channels), b.Name, s.To, want,
						plan.Err(b), wantErr)
				}
			}
		}
	})
}

// bruteV1 returns the bundle that OLM v1 resolves to, or nil.
func bruteV1(p *Package, o V1Options, from *Bundle) *Bundle {
	channels, all := o.Channels, o.Channels
	if all == nil {
		all = p.Channels
	}
	var best *Bundle
	for _, b := range p.Bundles {
		in := channels == nil || slices.ContainsFunc(channels, func(c *Channel) bool { _, ok := c.Entry(b.Name); return ok })
		covered := slices.ContainsFunc(all, func(c *Channel) bool { return covers(c, b, from) }) ||
			b.Version != nil && from.Version != nil && o.compare(b, from) == 0
		if b.Virtual || !in || !covered {
			continue
		}
		order := 0
		if best != nil {
			order = cmp.Or(o.compare(b, best), cmp.Compare(best.place, b.place))
		}
		if best == nil || best.Deprecated && !b.Deprecated || best.Deprecated == b.Deprecated && order > 0 {
			best = b
		}
	}
	return best
}

// TestPlansOfMembers checks that Plans returns the same updates for members as the plans of all bundles.
func TestPlansOfMembers(t *testing.T) {
	randomPackages(t, shared.Number(3000, 300), func(t *testing.T, graph string, p *Package) {
		for _, c := range p.Channels {
			classic, v1, err := p.Plans(c)
			all, allErr := p.Classic(c)
			if (err == nil) != (allErr == nil) {
				t.Errorf("%s%v, and %v", graph, err, allErr)
			}
			for _, b := range c.Members() {
				for _, plans := range [][2]*Plan{{classic, all}, {v1, p.V1(V1Options{Channels: []*Channel{c}})}} {
					got, _ := plans[0].Next(b)
					want, _ := plans[1].Next(b)
					gotEnd, gotHops, _ := plans[0].End(b)
					wantEnd, wantHops, _ := plans[1].End(b)
					if got != want || gotHops != wantHops || gotHops >= 0 && gotEnd != wantEnd {
						t.Errorf("%s%s: %s -> %v, want %v", graph, plans[0].Semantics, b.Name, got.To, want.To)
					}
					if got, want := fmt.Sprint(plans[0].Err(b)), fmt.Sprint(plans[1].Err(b)); got != want {
						t.Errorf("%s%s: %s: got %s, want %s", graph, plans[0].Semantics, b.Name, got, want)
					}
					if plans[0].Reaches(b) != plans[1].Reaches(b) || plans[0].Goal() != plans[1].Goal() {
						t.Errorf("%s%s: %s: goal %v, want %v", graph, plans[0].Semantics, b.Name, plans[0].Goal(), plans[1].Goal())
					}
				}
			}
		}
	})
}

// TestWalksEndOrLoop checks that every path ends or returns to one of its bundles, and that End agrees with Path.
func TestWalksEndOrLoop(t *testing.T) {
	randomPackages(t, shared.Number(3000, 300), func(t *testing.T, graph string, p *Package) {
		plans := []*Plan{p.V1(V1Options{}), p.V1(V1Options{SelfCertified: true})}
		for _, c := range p.Channels {
			plan, _ := p.Classic(c)
			plans = append(plans, plan, p.V1(V1Options{Channels: []*Channel{c}}))
		}
		for _, plan := range plans {
			for _, b := range p.Bundles {
				steps, loop := plan.Path(b)
				at, hops, ok := plan.End(b)
				passed := []*Bundle{b}
				for _, s := range steps {
					passed = append(passed, s.To)
				}
				end := passed[len(passed)-1]
				if ok == loop || ok && (at != end || hops != len(steps)) {
					t.Errorf("%s%s: %s ends at %s after %d, %t; want %s after %d", graph, plan.Semantics, b.Name, at.Name, hops, ok, end.Name, len(steps))
				}
				if loop && slices.Index(passed, end) == len(passed)-1 {
					t.Errorf("%s%s: %s does not come back to %s", graph, plan.Semantics, b.Name, end.Name)
				}
			}
		}
	})
}

// TestSkipsKeepUpdates checks that a skipped bundle still has an update if the head skips it and the channel stays
// valid.
func TestSkipsKeepUpdates(t *testing.T) {
	tried := 0
	randomPackages(t, shared.Number(5000, 500), func(t *testing.T, graph string, p *Package) {
		c := p.Channels[0]
		if len(c.entries) == 0 || len(c.Check()) > 0 {
			return
		}
		head := p.Bundle(c.Heads()[0])
		for _, b := range c.Members() {
			entries := slices.Clone(c.entries)
			i := c.index[head.Name]
			entries[i].Skips = append(slices.Clone(entries[i].Skips), b.Name)
			changed := New(entries)
			changed.Name = "changed"
			if b == head || len(changed.Check()) > 0 {
				continue
			}
			changed.join(p)
			tried++
			plan, err := p.Classic(changed)
			if s, _ := plan.Next(b); err != nil || s.To == nil && !head.Prohibited {
				t.Errorf("%swhere %s skips %s, that has no update: %v", graph, head.Name, b.Name, err)
			}
		}
	})
	if tried < 100 {
		t.Errorf("only %d skips tried", tried)
	}
}

// TestExplanationsMatchPlans checks that explanations agree with the plan and have reasons.
func TestExplanationsMatchPlans(t *testing.T) {
	randomPackages(t, shared.Number(1000, 100), func(t *testing.T, graph string, p *Package) {
		for _, from := range p.Bundles {
			for _, to := range p.Bundles {
				for _, c := range append(slices.Clone(p.Channels), nil) {
					plan, _ := p.Classic(c)
					agree(t, graph, plan, p.ExplainClassic(c, from, to), from, to)
					o := V1Options{}
					if c != nil {
						o.Channels = []*Channel{c}
					}
					agree(t, graph, p.V1(o), p.ExplainV1(o, from, to), from, to)
				}
			}
		}
	})
}

func agree(t *testing.T, graph string, plan *Plan, e *Explanation, from, to *Bundle) {
	t.Helper()
	s, _ := plan.Next(from)
	failed := slices.ContainsFunc(e.Checks, func(c Check) bool { return !c.Holds })
	if e.Updates != (s.To == to) || e.Updates == failed {
		t.Errorf("%s%s", graph, e)
	}
	for _, c := range e.Checks {
		if c.Why == "" {
			t.Errorf("%s%s: nothing is said about %q", graph, e, c.Name)
		}
	}
}
