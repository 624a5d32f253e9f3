package graph

import (
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Semantics is the rules by which installed bundles are updated.
type Semantics string

// The rules of the two generations of OLM.
const (
	Classic Semantics = "classic" // see [Package.Classic]
	V1      Semantics = "v1"      // see [Package.V1]
)

// An Edge is the reason for which one bundle may update another.
type Edge string

// The edges, in order of precedence.
const (
	Replaces  Edge = "replaces"
	Skips     Edge = "skips"
	SkipRange Edge = "skipRange"
	Same      Edge = "same version" // of a bundle of another name, since OLM v1 ignores names
	Forced    Edge = "forced"       // no edge is needed; see SelfCertified of [V1Options]
)

// A Step is the update of an installed bundle.
type Step struct {
	To      *Bundle
	By      Edge
	Channel *Channel // that has the edge; nil if Same or Forced
}

// A Plan has the next update of every installed bundle of a package, and the end of its update path.
type Plan struct {
	Semantics Semantics
	Package   *Package

	steps []Step // by rank; To is nil if there is no update
	ends  []end  // by rank
}

// An end is the end of an update path.
type end struct {
	hops int // -1 for a walk that never ends
	at   int // rank; of a bundle of the loop if there is one
}

// Next returns the next update of a bundle of the package, and false if there is none.
func (p *Plan) Next(b *Bundle) (Step, bool) {
	s := p.steps[b.rank]
	return s, s.To != nil
}

// End returns the bundle at the end of the update path of b, and the number of updates. It returns false for a path
// that ends in a loop; see [Plan.Path].
func (p *Plan) End(b *Bundle) (at *Bundle, hops int, ok bool) {
	e := p.ends[b.rank]
	return p.Package.Bundles[e.at], e.hops, e.hops >= 0
}

// Path returns the updates of a bundle, in order. If they end in a loop, loop is true and the last step leads to b or
// to the target of an earlier step.
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

// A planner makes a Plan. Candidates, the preferred ones first, claim the installed bundles that they update. Each
// bundle is claimed once, which keeps the work linear even if ranges overlap.
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

// claim updates b by s, unless it is already claimed. OLM v1 does not update a bundle to itself; OLM Classic does, in
// an endless loop.
func (p *planner) claim(b *Bundle, s Step) {
	if p.claimed[b.rank] {
		return
	}
	p.claimed[b.rank] = true
	if s.To != b || p.plan.Semantics == Classic {
		p.plan.steps[b.rank] = s
	}
}

// claimEntry claims all bundles to which an entry of a channel has an edge.
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

// claimRange claims the bundles whose version is in the range.
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

// nextFree follows free, and compresses the path.
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

// finish sets the ends, following each step once.
func (p *planner) finish() *Plan {
	const unknown, visiting = -2, -3
	plan := p.plan
	plan.ends = slices.Repeat([]end{{hops: unknown}}, len(plan.steps))
	for start := range plan.steps {
		var path []int
		i := start
		for plan.ends[i].hops == unknown && plan.steps[i].To != nil {
			plan.ends[i].hops = visiting
			path = append(path, i)
			i = plan.steps[i].To.rank
		}
		switch plan.ends[i].hops {
		case unknown:
			plan.ends[i] = end{0, i}
		case visiting:
			plan.ends[i] = end{-1, i}
		}
		for _, j := range slices.Backward(path) {
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
