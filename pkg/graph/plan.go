package graph

import (
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Semantics is a set of rules for where an installed bundle goes.
type Semantics string

// The rules of the two generations of OLM.
const (
	Classic Semantics = "classic" // see [Package.Classic]
	V1      Semantics = "v1"      // see [Package.V1]
)

// An Edge is the reason for which one bundle may update another.
type Edge string

// The edges, in the order in which they are looked at. A bundle that has several has the first.
const (
	Replaces  Edge = "replaces"
	Skips     Edge = "skips"
	SkipRange Edge = "skipRange"
	Same      Edge = "same version" // of another name, which OLM v1 does not look at
	Forced    Edge = "forced"       // there is none, and it does not matter; see SelfCertified of [V1Options]
)

// A Step is the update of an installed bundle.
type Step struct {
	To      *Bundle
	By      Edge
	Channel *Channel // that has the edge; nil if Same or Forced
}

// A Plan says of every bundle of a package where it goes next when it is installed, and so where it ends.
type Plan struct {
	Semantics Semantics
	Package   *Package

	steps []Step // by rank; To is nil where the bundle stays
	ends  []end  // by rank
}

// An end is what becomes of an installed bundle if every update is made.
type end struct {
	hops int // -1 for a walk that never ends
	at   int // rank; of a bundle of the loop if there is one
}

// Next returns the update of a bundle of the package. There is none where the bundle stays.
func (p *Plan) Next(b *Bundle) (Step, bool) {
	s := p.steps[b.rank]
	return s, s.To != nil
}

// End returns where a bundle is after all of its updates, and how many these are. It returns false for a bundle that
// goes on for ever; see [Plan.Path].
func (p *Plan) End(b *Bundle) (at *Bundle, hops int, ok bool) {
	e := p.ends[b.rank]
	return p.Package.Bundles[e.at], e.hops, e.hops >= 0
}

// Path returns the updates of a bundle, one after the other. Where they go on for ever, loop is true and the last step
// leads to a bundle that was there before: b itself, or what an earlier step leads to.
func (p *Plan) Path(b *Bundle) (steps []Step, loop bool) {
	seen := map[*Bundle]bool{b: true}
	for {
		s, ok := p.Next(b)
		if !ok {
			return steps, false
		}
		steps = append(steps, s)
		if b = s.To; seen[b] {
			return steps, true
		}
		seen[b] = true
	}
}

// A planner makes a Plan. Candidates claim the installed bundles that they may update, the preferred ones first, so
// that each bundle is claimed once: that keeps the work linear, however much the ranges of candidates overlap.
type planner struct {
	plan     *Plan
	bundles  []*Bundle // of the package
	claimed  []bool    // by rank
	versions int       // the rank of the first bundle with a version; from there on versions ascend

	// free leads from a rank to the first one from there on that no range has claimed, or to the end.
	free []int
}

func newPlanner(s Semantics, p *Package) *planner {
	n := len(p.Bundles)
	with := slices.IndexFunc(p.Bundles, func(b *Bundle) bool { return b.Version != nil })
	if with < 0 {
		with = n
	}
	planner := &planner{
		plan:     &Plan{Semantics: s, Package: p, steps: make([]Step, n)},
		bundles:  p.Bundles,
		claimed:  make([]bool, n),
		versions: with,
		free:     make([]int, n+1),
	}
	for rank := range planner.free {
		planner.free[rank] = rank
	}
	return planner
}

// claim sends b to a candidate, unless one that is preferred has claimed it. In OLM v1, a candidate that is installed
// stays; OLM Classic installs it again, and again.
func (p *planner) claim(b *Bundle, s Step) {
	if p.claimed[b.rank] {
		return
	}
	p.claimed[b.rank] = true
	if s.To != b || p.plan.Semantics == Classic {
		p.plan.steps[b.rank] = s
	}
}

// claimEntry claims everything that an entry of a channel has an edge to.
func (p *planner) claimEntry(c *Channel, entry int) {
	to := c.bundles[entry]
	e := c.entries[entry]
	if b := p.plan.Package.Bundle(e.Replaces); b != nil {
		p.claim(b, Step{to, Replaces, c})
	}
	for _, skip := range e.Skips {
		if b := p.plan.Package.Bundle(skip); b != nil {
			p.claim(b, Step{to, Skips, c})
		}
	}
	p.claimRange(c.ranges[entry], Step{to, SkipRange, c})
}

// claimRange claims what has a version in the range.
func (p *planner) claimRange(r Range, s Step) {
	versioned := p.bundles[p.versions:]
	for from, to := range r.Indexes(len(versioned), func(i int) *declcfg.Version { return versioned[i].Version }) {
		from, to = from+p.versions, to+p.versions
		for rank := p.nextFree(from); rank < to; rank = p.nextFree(rank) {
			p.claim(p.bundles[rank], s)
			p.free[rank] = rank + 1
		}
	}
}

// nextFree follows free, and shortens the way for the next one.
func (p *planner) nextFree(rank int) int {
	end := rank
	for p.free[end] != end {
		end = p.free[end]
	}
	for rank != end {
		rank, p.free[rank] = p.free[rank], end
	}
	return end
}

// finish follows every bundle to its end, each step once.
func (p *planner) finish() *Plan {
	const unknown, onTheWay = -2, -3
	plan := p.plan
	plan.ends = slices.Repeat([]end{{hops: unknown}}, len(plan.steps))
	for start := range plan.steps {
		var way []int
		i := start
		for plan.ends[i].hops == unknown && plan.steps[i].To != nil {
			plan.ends[i].hops = onTheWay
			way = append(way, i)
			i = plan.steps[i].To.rank
		}
		switch plan.ends[i].hops {
		case unknown:
			plan.ends[i] = end{0, i}
		case onTheWay:
			plan.ends[i] = end{-1, i}
		}
		for _, j := range slices.Backward(way) {
			last := plan.ends[i]
			if last.hops >= 0 {
				last.hops++
			}
			plan.ends[j] = last
			i = j
		}
	}
	return plan
}
