package graph

import (
	"cmp"
	"iter"
	"slices"
	"sort"

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

	bundles []*Bundle // by rank; all others have no update
	steps   []Step    // by index in bundles; To is nil if there is no update
	ends    []end     // by index in bundles
}

// An end is the end of an update path.
type end struct {
	hops int // -1 for a walk that never ends
	at   int // index in bundles; of a bundle of the loop if there is one
}

// find returns the index of a bundle of the package in bundles, and whether it is there.
func (p *Plan) find(b *Bundle) (int, bool) {
	if len(p.bundles) == len(p.Package.Bundles) {
		return b.rank, true
	}
	return slices.BinarySearchFunc(p.bundles, b, (*Bundle).compareRank)
}

// Next returns the next update of a bundle of the package, and false if there is none.
func (p *Plan) Next(b *Bundle) (Step, bool) {
	i, ok := p.find(b)
	if !ok {
		return Step{}, false
	}
	return p.steps[i], p.steps[i].To != nil
}

// End returns the bundle at the end of the update path of b, and the number of updates. It returns false for a path
// that ends in a loop; see [Plan.Path].
func (p *Plan) End(b *Bundle) (at *Bundle, hops int, ok bool) {
	i, ok := p.find(b)
	if !ok {
		return b, 0, true
	}
	e := p.ends[i]
	return p.bundles[e.at], e.hops, e.hops >= 0
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
	bundles  []*Bundle // of the plan; all numbers below are indexes in them
	claimed  []bool
	versions int // the first bundle with a version; from there on versions ascend

	// free leads from a bundle to the first one from there on that no range has claimed, or to the end.
	free []int
}

// newPlanner returns a planner for bundles of the package, sorted by rank. All others have no update, and no update
// leads to them.
func newPlanner(s Semantics, p *Package, bundles []*Bundle) *planner {
	n := len(bundles)
	planner := &planner{
		plan:     &Plan{Semantics: s, Package: p, bundles: bundles, steps: make([]Step, n)},
		bundles:  bundles,
		claimed:  make([]bool, n),
		versions: firstVersion(bundles),
		free:     make([]int, n+1),
	}
	for i := range planner.free {
		planner.free[i] = i
	}
	return planner
}

// firstVersion returns the index of the first bundle with a version, in bundles sorted by rank.
func firstVersion(bundles []*Bundle) int {
	return sort.Search(len(bundles), func(i int) bool { return bundles[i].Version != nil })
}

// updatable returns the bundles that may be updated in a channel, and its members.
func (p *Package) updatable(c *Channel) []*Bundle {
	bundles := slices.Clone(c.members)
	versioned := p.Bundles[firstVersion(p.Bundles):]
	for from, to := range c.allRanges().indexes(versioned) {
		bundles = append(bundles, versioned[from:to]...)
	}
	return byRank(bundles)
}

// allRanges returns what is in the skipRange of any entry.
func (c *Channel) allRanges() Range {
	var spans []span
	for _, i := range c.nodes {
		spans = append(spans, c.ranges[i].spans...)
	}
	return merge(spans)
}

// byRank sorts bundles and removes repetitions, in place.
func byRank(bundles []*Bundle) []*Bundle {
	slices.SortFunc(bundles, (*Bundle).compareRank)
	return slices.Compact(bundles)
}

func (b *Bundle) compareRank(c *Bundle) int { return cmp.Compare(b.rank, c.rank) }

// indexes yields which bundles are in the range. All have a version, and versions ascend.
func (r Range) indexes(versioned []*Bundle) iter.Seq2[int, int] {
	return r.Indexes(len(versioned), func(i int) *declcfg.Version { return versioned[i].Version })
}

// claim updates b by s, unless it is already claimed. OLM v1 does not update a bundle to itself; OLM Classic does, in
// an endless loop.
func (p *planner) claim(b *Bundle, s Step) {
	i, ok := p.plan.find(b)
	if !ok || p.claimed[i] {
		return
	}
	p.claimed[i] = true
	if s.To != b || p.plan.Semantics == Classic {
		p.plan.steps[i] = s
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
	for from, to := range r.indexes(versioned) {
		from, to = from+p.versions, to+p.versions
		for i := p.nextFree(from); i < to; i = p.nextFree(i) {
			p.claim(p.bundles[i], s)
			p.free[i] = i + 1
		}
	}
}

// nextFree follows free, and compresses the path.
func (p *planner) nextFree(i int) int {
	end := i
	for p.free[end] != end {
		end = p.free[end]
	}
	for i != end {
		i, p.free[i] = p.free[i], end
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
			i, _ = plan.find(plan.steps[i].To)
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
