package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// repair sets the entries of the channel to the kept entries, with the edges that make the channel valid. It keeps
// edges to entries that are not kept, since they update installed bundles. It returns the changes.
func (c *keptChannel) repair() []Change {
	r := repairer{keptChannel: c}
	c.entries = map[string]*declcfg.Entry{}
	for _, e := range c.graph.Entries() {
		if c.keep[e.Name] {
			e.Skips = slices.Clone(e.Skips)
			c.entries[e.Name] = &e
			r.order = append(r.order, &e)
		}
	}
	was := strings.Join(c.graph.Heads(), ", ")
	c.head = was
	if len(c.keep) < len(c.graph.Entries()) {
		if c.head = r.chooseHead(); c.head != was {
			r.change(HeadChanged, c.head, "the head is %q, was %q", c.head, was)
		}
		r.closeGaps()
		for _, e := range r.order {
			if e.Replaces == r.head {
				e.Replaces = ""
				r.change(ReplacesChanged, e.Name, "%q no longer replaces the head %q", e.Name, r.head)
			}
			if slices.Contains(e.Skips, r.head) {
				e.Skips = slices.DeleteFunc(e.Skips, func(skip string) bool { return skip == r.head })
				r.change(SkipsChanged, e.Name, "%q no longer skips the head %q", e.Name, r.head)
			}
		}
		// Remove the edge that closes a cycle in the chain, if there is one. opm accepts such a cycle if a part of it
		// is skipped, even by an entry that is not kept; OLM never accepts it.
		reached := map[string]bool{}
		for e := r.entries[r.head]; e != nil; e = r.entries[e.Replaces] {
			reached[e.Name] = true
			if reached[e.Replaces] {
				r.change(ReplacesChanged, e.Name, "%q no longer replaces %q, which leads back to it", e.Name, e.Replaces)
				e.Replaces = ""
			}
		}
		r.skip((*graph.Channel).Heads, "nothing else would update it")
		r.skip((*graph.Channel).Stranded, "no update would lead from it to the head")
		r.keepUpdates()
	}
	return r.changes
}

// A repairer repairs a channel after entries were removed.
type repairer struct {
	*keptChannel
	order   []*declcfg.Entry           // in the order of the channel
	skipped map[string]map[string]bool // by entry: the entries that it skips or must not skip; nil until first used
	changes []Change
}

func (r *repairer) change(kind Kind, bundle, format string, args ...any) {
	r.changes = append(r.changes, Change{
		Kind: kind, Channel: r.graph.Name, Bundle: bundle, Message: fmt.Sprintf(format, args...),
	})
}

// chooseHead returns the first kept entry of the chain, or an entry outside of the chain with a higher version that no
// kept entry replaces or skips, and that OLM Classic does not update to the first kept entry. If no entry of the chain
// is kept, it returns the highest version, preferably one that no kept entry replaces or skips.
func (r *repairer) chooseHead() string {
	chain := slices.DeleteFunc(names(chainOf(r.graph)), func(name string) bool { return !r.keep[name] })
	inChain, unnamed := setOf(chain), setOf(r.built().Heads())
	isHead := func(b *graph.Bundle) bool { return unnamed[b.Name] }
	var higher []*graph.Bundle // kept bundles above the first of the chain, the highest first
	for _, b := range slices.Backward(r.pkg.Bundles) {
		if len(chain) > 0 && b.Name == chain[0] {
			break
		}
		if r.keep[b.Name] && !inChain[b.Name] {
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
	classic, _ := r.pkg.Classic(r.graph) // no bundle has an update if OLM refuses the channel
	leads := leadTo(classic, r.pkg.Bundle(chain[0]))
	i = slices.IndexFunc(higher, func(b *graph.Bundle) bool { return isHead(b) && !leads(b) })
	if i < 0 {
		return chain[0]
	}
	return higher[i].Name
}

// leadTo returns a function that reports whether a plan updates a bundle to one of the targets, directly or indirectly,
// or the bundle is one of them.
func leadTo(plan *graph.Plan, targets ...*graph.Bundle) func(*graph.Bundle) bool {
	known := map[*graph.Bundle]bool{}
	for _, to := range targets {
		known[to] = true
	}
	return func(b *graph.Bundle) bool {
		var path []*graph.Bundle
		for ok := true; ok; {
			if _, done := known[b]; done {
				break
			}
			known[b] = false // remains false if updates end in a loop
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

// built returns the graph of the channel with the current edges.
func (r *repairer) built() *graph.Channel {
	var all []declcfg.Entry
	for _, e := range r.order {
		all = append(all, *e)
	}
	return graph.New(all)
}

// closeGaps connects the kept entries of the chain. If an entry replaced an entry that is not kept, it skips that entry
// instead, so that it is still updated.
func (r *repairer) closeGaps() {
	chain := slices.DeleteFunc(names(downFrom(r.graph, r.head)), func(name string) bool { return !r.keep[name] })
	named := map[string]bool{}
	for _, e := range r.order {
		named[e.Replaces] = true
		for _, skip := range e.Skips {
			named[skip] = true
		}
	}
	for i := range max(0, len(chain)-1) {
		e, next := r.entries[chain[i]], chain[i+1]
		if named[next] {
			continue
		}
		was := e.Replaces
		e.Replaces = next
		if was == "" || slices.Contains(e.Skips, was) {
			r.change(ReplacesChanged, e.Name, "%q replaces %q, was %q", e.Name, next, was)
			continue
		}
		e.Skips = append(e.Skips, was)
		r.change(ReplacesChanged, e.Name, "%q replaces %q and skips %q, which it replaced", e.Name, next, was)
	}
}

// skip makes the head skip the entries returned by entries, except for the head itself.
func (r *repairer) skip(entries func(*graph.Channel) []string, why string) {
	for _, name := range entries(r.built()) {
		r.skipOne(name, why)
	}
}

// skipOne makes the head skip an entry, and reports whether it did not do so before.
func (r *repairer) skipOne(name, why string) bool { return r.skipBy(r.entries[r.head], name, why) }

// skipBy makes an entry skip another one, and reports whether it did not do so before.
func (r *repairer) skipBy(e *declcfg.Entry, name, why string) bool {
	if r.skipped == nil {
		r.skipped = map[string]map[string]bool{}
	}
	if r.skipped[e.Name] == nil {
		r.skipped[e.Name] = setOf(e.Skips)
		r.skipped[e.Name][r.head] = true // nothing may skip the head
		r.skipped[e.Name][e.Name] = true
	}
	if r.skipped[e.Name][name] {
		return false
	}
	r.skipped[e.Name][name] = true
	e.Skips = append(e.Skips, name)
	r.change(SkipsChanged, e.Name, "%q skips %q too, since %s", e.Name, name, why)
	return true
}

// keepUpdates keeps the updates of installed bundles. An entry that a version of OLM updated to the head before, but
// would not update to it now, is skipped by the bundle that this OLM prefers: the head, unless that is deprecated or
// does not have the highest version. The entries for which that does not help are reported.
//
// OLM Classic ignores the edges of skipped entries. OLM v1 does not update a bundle to a deprecated one, so it stays if
// the edge of a removed entry led past that.
func (r *repairer) keepUpdates() {
	classic, v1, _ := r.pkg.Plans(r.graph)
	for changed := true; changed; {
		p := repaired(r.index, r.keep, "", r.keptChannel)
		newClassic, newV1, _ := p.Plans(p.Channels[0])
		changed = r.keepUpdatesOf(r.lost(classic, newClassic), newClassic)
		changed = r.keepUpdatesOf(ends(r.lost(v1, newV1), newV1), newV1) || changed
		if changed {
			r.skip((*graph.Channel).Stranded, "no update would lead from it to the head")
			continue
		}
		for _, plans := range [][2]*graph.Plan{{classic, newClassic}, {v1, newV1}} {
			for _, name := range r.lost(plans[0], plans[1]) {
				r.change(Stranded, name, "%s", strandedMessage(plans[1], name, ""))
			}
		}
	}
}

// keepUpdatesOf makes the bundle that OLM prefers to all others skip entries, and reports whether it did not skip one
// before. It must not skip the head or, if it is in the chain, an entry above itself: the entries below would be
// stranded.
func (r *repairer) keepUpdatesOf(entries []string, plan *graph.Plan) (changed bool) {
	goal := plan.Goal()
	if len(entries) == 0 || goal == nil || plan.Err(goal) != nil {
		return false
	}
	chain := r.built().Chain()
	above := setOf(chain[:max(slices.Index(chain, goal.Name), 0)])
	for _, name := range entries {
		if !above[name] {
			why := plan.Semantics.Title() + " would not update it to the head"
			changed = r.skipBy(r.entries[goal.Name], name, why) || changed
		}
	}
	return changed
}

// ends returns the bundles that have no update, or all bundles if each has one: the ends of updates come first, since
// the others may be updated to them.
func ends(names []string, plan *graph.Plan) []string {
	var last []string
	for _, name := range names {
		if _, updates := plan.Next(plan.Package.Bundle(name)); !updates {
			last = append(last, name)
		}
	}
	if last == nil {
		return names
	}
	return last
}

// lost returns the entries whose updates arrive at the head by one plan, and do not by the other. It omits those that
// OLM v1 refuses, whoever installs them; see [Result.AddUnresolved].
func (r *repairer) lost(before, after *graph.Plan) (names []string) {
	arrived, arrives := arrive(before, r.head), arrive(after, r.head)
	for _, e := range r.order {
		b := after.Package.Bundle(e.Name)
		if arrived(before.Package.Bundle(e.Name)) && !arrives(b) && !refuses(after, b) {
			names = append(names, e.Name)
		}
	}
	return names
}

// refuses reports whether OLM v1 refuses an installed bundle itself.
func refuses(plan *graph.Plan, b *graph.Bundle) bool {
	refusal, ok := errors.AsType[*graph.RefusalError](plan.Err(b))
	return ok && refusal.Bundle == b
}

// arrive returns a function that reports whether the updates of a bundle end at the goal of the plan, or reach one of
// the heads that are kept and whose users get no error from OLM. A head that is not a bundle of the package is ignored.
func arrive(plan *graph.Plan, heads ...string) func(*graph.Bundle) bool {
	var targets []*graph.Bundle
	for _, name := range heads {
		if b := plan.Package.Bundle(name); b != nil && plan.Err(b) == nil {
			targets = append(targets, b)
		}
	}
	leads := leadTo(plan, targets...)
	return func(b *graph.Bundle) bool { return plan.Reaches(b) || leads(b) }
}

// strandedMessage returns a message about an installed bundle that the plan does not update to the head any longer.
// user is "" or describes the user, with a comma on each side.
func strandedMessage(plan *graph.Plan, name, user string) string {
	at, _, ok := plan.End(plan.Package.Bundle(name))
	text := fmt.Sprintf("%s%s no longer updates %q to the head", plan.Semantics.Title(), user, name)
	switch err := plan.Err(at); {
	case !ok:
		return text + ": its updates end in a loop"
	case err != nil:
		return fmt.Sprintf("%s: %v", text, err)
	case at.Name != name:
		return fmt.Sprintf("%s, only to %q", text, at.Name)
	}
	return text
}
