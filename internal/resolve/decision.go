package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A decision is one step of the search: the choice of a candidate for a Dependency.
type decision struct {
	constraint int
	solver.Constraint
	chosen int  // index in Others
	reused bool // an earlier decision chose it
	before []int
}

// replay reconstructs the decisions that led to the chosen variables. Each decision takes its first candidate that is
// compatible with the earlier decisions. Of the candidates of a decision that are chosen in the end, this is the first
// one.
func (x *explainer) replay(chosen []int) []decision {
	dependencies := make([][]int, x.Variables)
	var guesses, queue []int
	for i, c := range x.Constraints {
		switch c.Kind {
		case solver.Mandatory:
			guesses = append(guesses, c.Subject)
		case solver.Dependency:
			dependencies[c.Subject] = append(dependencies[c.Subject], i)
		}
	}
	for _, v := range guesses {
		queue = append(queue, dependencies[v]...)
	}
	var decisions []decision
	for ; len(queue) > 0; queue = queue[1:] {
		d := decision{constraint: queue[0], Constraint: x.Constraints[queue[0]], before: slices.Clip(guesses)}
		d.chosen = slices.IndexFunc(d.Others, func(v int) bool { return slices.Contains(guesses, v) })
		d.reused = d.chosen >= 0
		if !d.reused {
			d.chosen = slices.IndexFunc(d.Others, func(v int) bool { _, ok := slices.BinarySearch(chosen, v); return ok })
			guess := d.Others[d.chosen]
			guesses = append(guesses, guess)
			queue = append(slices.Clip(queue), dependencies[guess]...)
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// explain explains a decision. After an error, it returns the part of the explanation that it has found.
func (x *explainer) explain(ctx context.Context, d decision) (Decision, error) {
	v := d.Others[d.chosen]
	out := Decision{
		Chosen: x.identifier(v), Installed: x.variables[v].bundle.installed != nil, Reused: d.reused,
		Preferred: x.preferred(d), chosen: x.origin(v),
	}
	r := x.subscription(d.Subject)
	if r != nil {
		out.Subscription, out.Place, out.who = r.Name, r.Pos, "Subscription "+r.Name
	} else {
		from, dependency := x.variables[d.Subject], x.origins[d.constraint].dependency
		out.Bundle, out.Requires = from.identifier, requirementText(dependency.requirement)
		out.Place, out.who = from.propertyPlace(dependency.property).find(), x.name(d.Subject)+" requires "+out.Requires
	}
	if !d.reused || r != nil {
		if err := x.rejected(ctx, d, &out); err != nil {
			return out, err
		}
	}
	if r != nil {
		reasons, more := x.q.notOffered(r, x.variables[v].entry, maxRejected-out.explained)
		out.reject(reasons...)
		out.MoreRejected += more
	}
	return out, nil
}

// reject adds reasons, each about one rejected bundle.
func (d *Decision) reject(reasons ...*Reason) {
	for _, r := range reasons {
		if d.explained == maxRejected {
			d.MoreRejected++
			continue
		}
		d.explained++
		d.Rejected = addReason(d.Rejected, r)
	}
}

// rejected explains why the candidates before the chosen one were not chosen, and finds the changes for the first one.
func (x *explainer) rejected(ctx context.Context, d decision, out *Decision) error {
	likely := []int{} // the core of the previous rejection
	seen := map[*bundle]bool{x.variables[d.Others[d.chosen]].bundle: true}
	for _, v := range d.Others[:d.chosen] {
		b := x.variables[v].bundle
		if seen[b] {
			continue // the same bundle in another channel
		}
		seen[b] = true
		if len(seen) > maxRejected+1 {
			out.MoreRejected++
			continue
		}
		s, err := x.exclude(ctx, v, d.before, likely)
		if err != nil {
			return err
		}
		if s == nil {
			out.reject(&Reason{
				Kind: FactChosen, Subjects: []string{x.identifier(v)}, names: []string{x.name(v)},
				what: "is not needed, as " + x.name(d.Others[d.chosen]) + " was chosen first",
			})
			continue
		}
		if isEarlier := func(i int) bool { return i >= len(x.Constraints) }; !slices.ContainsFunc(s.core, isEarlier) {
			likely = s.core
		}
		out.reject(s.whyNot([]int{v})...)
		if out.Wanted == "" && out.Subscription != "" && b.installed == nil {
			out.Wanted, out.wanted = x.identifier(v), x.name(v)
			if out.Changes, err = x.changes(ctx, s.core, x.variables[v].entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// exclude finds the reason why a variable cannot be chosen, nil if there is none. It tries, one after the other: the
// requirements of bundles alone; also Subscriptions and installed operators; also earlier decisions. It tries the
// likely constraints before all constraints.
func (x *explainer) exclude(ctx context.Context, v int, before, likely []int) (*conflict, error) {
	constraints := append(slices.Clip(x.Constraints), mandatory(before)...)
	all := make([]int, len(constraints))
	for i := range all {
		all[i] = i
	}
	for _, among := range [][]int{x.reachableConstraints(v), likely, all[:len(x.Constraints)], all} {
		p := x.Problem
		p.Constraints = nil
		for _, i := range among {
			p.Constraints = append(p.Constraints, constraints[i])
		}
		p.Constraints = append(p.Constraints, mandatory([]int{v})...)
		_, err := p.Solve(ctx)
		unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err)
		if !ok && err != nil {
			return nil, err
		}
		if ok {
			var core []int
			for _, i := range unsatisfiable.Core {
				if i < len(among) { // the last constraint is that v is chosen
					core = append(core, among[i])
				}
			}
			return x.conflict(constraints, core), nil
		}
	}
	return nil, nil
}

// reachableConstraints returns the constraints on a variable and on all variables that it may require. They are
// sufficient if no other variable is chosen.
func (x *explainer) reachableConstraints(v int) []int {
	reached, stack := map[int]bool{v: true}, []int{v}
	constraints := []int{}
	for len(stack) > 0 {
		subject := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, i := range x.subjects[subject] {
			constraints = append(constraints, i)
			for _, other := range x.Constraints[i].Others {
				if !reached[other] {
					reached[other] = true
					stack = append(stack, other)
				}
			}
		}
	}
	for i, c := range x.Constraints {
		isReached := func(v int) bool { return reached[v] }
		first := slices.IndexFunc(c.Others, isReached)
		if c.Kind == solver.AtMostOne && first >= 0 && slices.ContainsFunc(c.Others[first+1:], isReached) {
			constraints = append(constraints, i)
		}
	}
	slices.Sort(constraints)
	return constraints
}

func mandatory(variables []int) []solver.Constraint {
	var constraints []solver.Constraint
	for _, v := range variables {
		constraints = append(constraints, solver.Constraint{Kind: solver.Mandatory, Subject: v})
	}
	return constraints
}

// preferred returns the rules by which the chosen candidate sorts before the later ones.
func (x *explainer) preferred(d decision) []Preference {
	if d.reused {
		return nil
	}
	var preferences []Preference
	var from *Catalog // of the bundle with the requirement
	forSubscription := x.subscription(d.Subject) != nil
	if !forSubscription {
		from = x.variables[d.Subject].catalog
	}
	chosen := x.variables[d.Others[d.chosen]]
	for _, v := range d.Others[d.chosen+1:] {
		if v == d.Others[d.chosen] { // a Subscription without a channel may list it twice
			continue
		}
		rule := x.q.rule(chosen.entry, x.variables[v].entry, forSubscription, from)
		if !slices.ContainsFunc(preferences, func(p Preference) bool { return p.Rule == rule }) {
			preferences = append(preferences, Preference{x.variables[v].identifier, rule, x.name(v)})
		}
	}
	return preferences
}

// rule returns the rule by which OLM prefers a to b, for a Subscription or for a requirement of a bundle of a catalog.
func (q *question) rule(a, b *entry, subscription bool, from *Catalog) string {
	switch {
	case subscription && b.catalog == q.installed:
		return "an update is preferred to the installed bundle"
	case a.catalog == b.catalog || subscription:
	case a.catalog == q.installed:
		return "installed operators come first"
	case a.catalog == from:
		return "the same catalog comes first"
	case a.catalog.Priority != b.catalog.Priority:
		return "catalogs of higher priority come first"
	case a.catalog.Namespace != b.catalog.Namespace && (a.catalog.Namespace == q.Name || b.catalog.Namespace == q.Name):
		return "catalogs of the namespace come first"
	default:
		return "catalogs are sorted by name"
	}
	switch {
	case a.isDefault != b.isDefault:
		return "default channels come first"
	case a.pkg != b.pkg && !subscription:
		return "packages are sorted by name"
	case a.channel.name != b.channel.name:
		return "channels are sorted by name"
	}
	return "nearer to the head of the channel"
}

// notOffered explains why newer bundles of the package are not candidates of a Subscription. It explains the bundles
// with a higher version than the chosen one, the highest first, without duplicates: at most the given number. It also
// returns the number of the other bundles.
func (q *question) notOffered(r *subscription, chosen *entry, most int) (reasons []*Reason, more int) {
	known := map[*bundle]int{} // index in newer, or -1 for a candidate
	for _, e := range r.candidates {
		known[e.bundle] = -1
	}
	var newer []*entry
	for _, e := range q.packageEntries(r) {
		if e.version == nil || chosen.version == nil || !e.version.GT(*chosen.version) {
			continue
		}
		i, ok := known[e.bundle]
		switch {
		case !ok:
			known[e.bundle] = len(newer)
			newer = append(newer, e)
		case i >= 0 && newer[i].channel.name != r.Channel:
			newer[i] = e
		}
	}
	slices.SortStableFunc(newer, func(a, b *entry) int { return b.version.Compare(*a.version) })
	more = max(0, len(newer)-most)
	detailed := map[string]bool{}
	for _, e := range newer[:len(newer)-more] {
		what, detail := q.whyNotOffered(r, e)
		if detail != "" && !detailed[what] {
			detailed[what] = true
			what += detail
		}
		reasons = append(reasons, &Reason{
			Kind: FactNotOffered, Subjects: []string{e.id()}, Places: []declcfg.Pos{e.edgePlace().find()},
			names: []string{e.bundle.name}, what: what,
		})
	}
	return reasons, more
}

// packageEntries returns the entries of the package of a Subscription in its catalogs.
func (q *question) packageEntries(r *subscription) []*entry {
	var entries []*entry
	for _, c := range q.sources(r) {
		if c != q.installed {
			entries = append(entries, c.list().byPackage[r.Package]...)
		}
	}
	return entries
}

// whyNotOffered explains why OLM does not offer an entry to the Subscription, and returns details if there are any.
func (q *question) whyNotOffered(r *subscription, e *entry) (what, detail string) {
	current := q.current(r.Subscription)
	if r.Channel != "" && e.channel.name != r.Channel {
		return fmt.Sprintf("is in channel %s; the Subscription asks for %s", e.channel.name, r.Channel), ""
	}
	if current == nil && r.StartingCSV != "" {
		return "is not the startingCSV " + r.StartingCSV, ""
	}
	for _, other := range e.channel.entries {
		if slices.Contains(other.edges.Skips, e.bundle.name) {
			return fmt.Sprintf("is skipped by %s in channel %s", other.bundle.name, e.channel.name), ""
		}
	}
	if current == nil || e.updates(current) {
		return fmt.Sprintf("is not reached by following replaces from the head of channel %s", e.channel.name), ""
	}
	var has []string
	if e.edges.Replaces != "" {
		has = append(has, "replaces "+e.edges.Replaces)
	}
	if len(e.edges.Skips) > 0 {
		has = append(has, "skips "+firstNames(e.edges.Skips, "and"))
	}
	if text := e.edges.SkipRange; text != "" {
		why := current.version.String() + " is not in"
		if _, err := graph.ParseRange(text); err != nil {
			why = "is not valid"
		}
		has = append(has, fmt.Sprintf("has the skipRange %q, which %s", text, why))
	}
	if has == nil {
		has = []string{"replaces nothing"}
	}
	return "does not update " + current.bundle.name + " directly", ": it " + firstNames(has, "and")
}
