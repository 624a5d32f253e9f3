package graph

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/opm-toolchain/opm/internal/updates"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Semantics is the update rules of one generation of OLM.
type Semantics string

// The update rules of OLM Classic and OLM v1.
const (
	Classic Semantics = "classic" // see [Package.Classic]
	V1      Semantics = "v1"      // see [Package.V1]
)

// Title returns the name in prose: OLM Classic or OLM v1.
func (s Semantics) Title() string {
	if s == Classic {
		return "OLM Classic"
	}
	return "OLM v1"
}

// An Edge is the reason why one bundle may update another.
type Edge string

// The edges, in order of precedence.
const (
	Replaces  Edge = "replaces"
	Skips     Edge = "skips"
	SkipRange Edge = "skipRange"
	Same      Edge = "same version" // the bundle has another name, which OLM v1 ignores
	Forced    Edge = "forced"       // no edge is needed; see SelfCertified of [V1Options]
)

// A Step is the update of an installed bundle.
type Step struct {
	To      *Bundle
	By      Edge
	Channel *Channel // of the edge; nil if By is Same or Forced
}

// A Plan has the next update of every installed bundle of a package, and the last bundle of its update path.
//
// For an installed bundle, OLM either updates it (see [Plan.Next]), reports an error (see [Plan.Err]), or leaves it
// installed.
type Plan struct {
	Semantics Semantics
	Package   *Package

	bundles  []*Bundle // by rank; other bundles have no update
	refused  error     // the error for every bundle; then chosen is empty
	v1       V1Options // for plans of OLM v1
	goal     *Bundle
	chosen   []Step    // by index in bundles: the resolved bundle, perhaps the same one; To is nil if there is none
	pathEnds []pathEnd // by index in bundles
}

// A pathEnd is the end of an update path.
type pathEnd struct {
	hops int // -1 if the path ends in a loop
	at   int // index in bundles of the last bundle, or of a bundle of the loop
}

// find returns the index of a bundle of the package in p.bundles, and whether p.bundles has it.
func (p *Plan) find(b *Bundle) (int, bool) {
	if len(p.bundles) == len(p.Package.Bundles) {
		return b.rank, true
	}
	return slices.BinarySearchFunc(p.bundles, b, (*Bundle).compareRank)
}

// choice returns the step to the bundle that OLM resolves to for an installed bundle of the package; To is nil if there
// is none.
func (p *Plan) choice(b *Bundle) Step {
	i, ok := p.find(b)
	if !ok {
		return Step{}
	}
	return p.chosen[i]
}

// Next returns the next update of a bundle of the package, and false if there is none.
func (p *Plan) Next(b *Bundle) (Step, bool) {
	s := p.choice(b)
	if s.To == nil || s.To == b || p.rejects(s.To) {
		return Step{}, false
	}
	return s, true
}

// Err returns the error that OLM reports for an installed bundle, or nil. If OLM Classic reports one, it updates no
// bundle in the namespace.
func (p *Plan) Err(b *Bundle) error {
	to := p.choice(b).To
	switch {
	case p.refused != nil:
		return p.refused
	case to != nil && p.rejects(to):
		return to.Refusal()
	case to != nil:
		return nil
	case p.Semantics == V1:
		e := &UnresolvedError{Package: p.Package.Name, Channels: channelNames(p.v1.Channels)}
		if b.Version != nil {
			e.Installed = b.semver().String()
		}
		if p.v1.Version != nil {
			e.Version = p.v1.Version.String()
		}
		return e
	case b.Prohibited:
		return fmt.Errorf("constraints not satisfiable: bundle %s is deprecated (it has the property %s), "+
			"and nothing else can be installed", b.Name, declcfg.PropertyDeprecated)
	}
	return nil
}

// rejects reports whether OLM v1 rejects a bundle after resolving to it. OLM v1 then does not try another bundle.
func (p *Plan) rejects(to *Bundle) bool {
	return p.Semantics == V1 && to.Dependency != ""
}

// Goal returns the bundle that all updates should reach, or nil. In OLM Classic, it is the first installable entry of
// [Channel.Order] or, without a channel, the bundle at the end of its update path. In OLM v1, it is the preferred
// bundle of the selected channels and versions.
func (p *Plan) Goal() *Bundle { return p.goal }

// Reaches reports whether b is the Goal or its updates end at the Goal, and OLM reports no error there. In OLM v1, the
// updates may also end at a higher version, which is then deprecated.
func (p *Plan) Reaches(b *Bundle) bool {
	at, _, ok := p.End(b)
	if !ok || p.goal == nil || p.Err(at) != nil {
		return false
	}
	return at == p.goal || p.Semantics == V1 && !at.Virtual && at.Version != nil && p.goal.Version != nil &&
		at.Version.Compare(*p.goal.Version) > 0
}

// End returns the bundle at the end of the update path of b, and the number of updates. It returns false if the path
// ends in a loop; see [Plan.Path].
func (p *Plan) End(b *Bundle) (at *Bundle, hops int, ok bool) {
	i, ok := p.find(b)
	if !ok {
		return b, 0, true
	}
	e := p.pathEnds[i]
	return p.bundles[e.at], e.hops, e.hops >= 0
}

// Path returns the updates of a bundle, in order. If they end in a loop, loop is true and the last step leads to b or
// to the target of an earlier step.
func (p *Plan) Path(b *Bundle) (steps []Step, loop bool) {
	var trail updates.Trail
	for trail.Loop(b.Name) == nil {
		trail.Add(b.Name)
		s, ok := p.Next(b)
		if !ok {
			return steps, false
		}
		steps = append(steps, s)
		b = s.To
	}
	return steps, true
}

// A planner builds a Plan. Candidates, the preferred one first, claim the installed bundles that they update. Each
// bundle is claimed once, so the work is linear even if ranges overlap.
type planner struct {
	plan           *Plan
	bundles        []*Bundle // of the plan; the indexes below refer to it
	claimed        []bool
	firstVersioned int // the index of the first bundle with a version; versions ascend from there

	// free maps a bundle to itself while no range has claimed it, otherwise to a later index. Following it leads to the
	// first bundle that no range has claimed, or to len(bundles).
	free []int
}

// newPlanner returns a planner for bundles of the package, sorted by rank. Other bundles of the package have no update,
// and no update leads to them.
func newPlanner(s Semantics, p *Package, bundles []*Bundle) *planner {
	n := len(bundles)
	planner := &planner{
		plan:           &Plan{Semantics: s, Package: p, bundles: bundles, chosen: make([]Step, n)},
		bundles:        bundles,
		claimed:        make([]bool, n),
		firstVersioned: firstVersion(bundles),
		free:           make([]int, n+1),
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

// updatable returns the bundles that the channel may update, and its members.
func (p *Package) updatable(c *Channel) []*Bundle {
	var spans []span // of the skipRanges of all entries
	for _, i := range c.nodes {
		spans = append(spans, c.ranges[i].spans...)
	}
	bundles := slices.Clone(c.members)
	versioned := p.Bundles[firstVersion(p.Bundles):]
	for from, to := range merge(spans).indexes(versioned) {
		bundles = append(bundles, versioned[from:to]...)
	}
	return byRank(bundles)
}

// byRank sorts bundles by rank and removes duplicates, in place.
func byRank(bundles []*Bundle) []*Bundle {
	slices.SortFunc(bundles, (*Bundle).compareRank)
	return slices.Compact(bundles)
}

func (b *Bundle) compareRank(c *Bundle) int { return cmp.Compare(b.rank, c.rank) }

// indexes yields the bundles in the range, as intervals from i up to but not including j. All bundles must have a
// version, and versions must ascend.
func (r Range) indexes(versioned []*Bundle) iter.Seq2[int, int] {
	return r.Indexes(len(versioned), func(i int) *declcfg.Version { return versioned[i].Version })
}

// claim sets s as the step of b, unless b is already claimed.
func (p *planner) claim(b *Bundle, s Step) {
	if i, ok := p.plan.find(b); ok && !p.claimed[i] {
		p.claimed[i] = true
		p.plan.chosen[i] = s
	}
}

// claimEntry claims all bundles that an entry of a channel has an edge to, unless the entry is never installed.
func (p *planner) claimEntry(c *Channel, entry int) {
	to := c.bundles[entry]
	if p.plan.Semantics == Classic {
		if to.Prohibited {
			return
		}
		p.setGoal(to)
	}
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
	versioned := p.bundles[p.firstVersioned:]
	for from, to := range r.indexes(versioned) {
		from, to = from+p.firstVersioned, to+p.firstVersioned
		for i := p.nextFree(from); i < to; i = p.nextFree(i) {
			p.claim(p.bundles[i], s)
			p.free[i] = i + 1
		}
	}
}

// setGoal sets the goal, unless there is one.
func (p *planner) setGoal(b *Bundle) {
	p.plan.goal = cmp.Or(p.plan.goal, b)
}

// nextFree returns the first index from i on that no range has claimed, and shortens the way to it, as in a union-find
// structure.
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

// finish computes the ends of all update paths. It follows each step once.
func (p *planner) finish() *Plan {
	const unknown, visiting = -2, -3
	plan := p.plan
	plan.pathEnds = slices.Repeat([]pathEnd{{hops: unknown}}, len(plan.chosen))
	for start := range plan.chosen {
		var path []int
		i := start
		for plan.pathEnds[i].hops == unknown {
			s, ok := plan.Next(plan.bundles[i])
			if !ok {
				break
			}
			plan.pathEnds[i].hops = visiting
			path = append(path, i)
			i, _ = plan.find(s.To)
		}
		switch plan.pathEnds[i].hops {
		case unknown:
			plan.pathEnds[i] = pathEnd{0, i}
		case visiting:
			plan.pathEnds[i] = pathEnd{-1, i}
		}
		for _, j := range slices.Backward(path) {
			last := plan.pathEnds[i]
			if last.hops >= 0 {
				last.hops++
			}
			plan.pathEnds[j] = last
			i = j
		}
	}
	return plan
}
