package resolve

import (
	"cmp"
	"context"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// askClassic asks OLM Classic about every channel.
func (p *packageCheck) askClassic(ctx context.Context) error {
	inChannel := map[string][]*entry{}
	for _, e := range p.catalog.list().byPackage[p.x.Name] {
		inChannel[e.channel.name] = append(inChannel[e.channel.name], e)
	}
	requirements := p.requirements.another()
	for _, o := range p.x.Channels {
		if o.Value == nil {
			continue
		}
		offered := inChannel[o.Value.Name]
		own := keep(offered, func(e *entry) bool { return e.pkg == p.x.Name })
		p.classicTally.Questions += 1 + len(own)
		if isPlain(offered) {
			continue
		}
		for _, installed := range append([]*entry{nil}, own...) {
			err := p.askSolver(ctx, p.question(o.Value.Name, installed, requirements))
			if err = cmp.Or(err, p.requirements.compiler.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPlain reports whether no solver is needed for a Subscription to the entries, since nothing keeps OLM from the first
// candidate: they are in one channel with an order, require nothing, and can be installed.
func isPlain(entries []*entry) bool {
	if len(entries) == 0 || slices.ContainsFunc(entries, func(e *entry) bool { return e.channel != entries[0].channel }) {
		return false
	}
	_, err := entries[0].channel.order()
	return err == nil && !slices.ContainsFunc(entries, (*entry).isSpecial)
}

// isSpecial reports whether an entry requires something, is deprecated, or says twice what only one bundle can say.
func (e *entry) isSpecial() bool {
	requires := func(p Property) bool { return requirementParsers[p.Type] != nil }
	name := func(p packageVersion) string { return p.name }
	same := func(gvk declcfg.GVK) declcfg.GVK { return gvk }
	return e.deprecated || slices.ContainsFunc(e.properties, requires) ||
		repeats(e.gvks, same) || repeats(e.packages, name)
}

// repeats reports whether two values have the same key.
func repeats[T any, K comparable](values []T, key func(T) K) bool {
	seen := make(map[K]bool, len(values))
	for _, v := range values {
		if seen[key(v)] {
			return true
		}
		seen[key(v)] = true
	}
	return false
}

// question returns what happens to a Subscription to a channel, with the entry installed if it is not nil.
func (p *packageCheck) question(channel string, installed *entry, requirements requirementReader) *question {
	ns := p.Namespace
	s := Subscription{
		Name: "sub", Package: p.x.Name, Channel: channel, Catalog: p.catalog.Name, CatalogNamespace: p.catalog.Namespace,
	}
	if installed != nil {
		in, _ := p.catalog.Operator(p.x.Name, installed.bundle.name)
		in.Pos = installed.bundle.meta.Pos
		ns.Installed = []Installed{in}
		s.InstalledCSV, s.CurrentCSV = in.Name, in.Name
	}
	ns.Subscriptions = []Subscription{s}
	q := ns.question()
	q.requirements = requirements
	return q
}

// askSolver asks one question, but the solver only where it is not clear without it.
func (p *packageCheck) askSolver(ctx context.Context, q *question) error {
	s := q.Subscriptions[0]
	failed := effect{channel: s.Channel, installed: s.InstalledCSV}
	var dead *deadEnds
	var candidates []*entry
	answer, err := p.Options.bound(ctx, func(ctx context.Context) (*Classic, error) {
		if err := q.ask(ctx); err != nil {
			return nil, err
		}
		candidates, dead = q.subscriptions[0].candidates, q.deadEnds()
		if dead.explains(candidates) {
			return &Classic{Outcome: Unsatisfiable}, nil
		}
		return q.solve(ctx)
	})
	if err != nil {
		return err
	}
	if answer.Outcome != Resolved {
		p.classicTally.Unresolved++
		p.blame(dead, candidates, answer, classicUnresolved, failed)
		return nil
	}
	wanted := q.subscriptions[0].wanted()
	got := s.InstalledCSV
	for _, c := range slices.Concat(answer.Install, answer.Unchanged) {
		if s.follows(c) {
			got = c.Bundle
		}
	}
	if wanted == nil || got == wanted.bundle.name {
		return nil
	}
	p.classicTally.HeldBack++
	candidates = []*entry{wanted}
	if !dead.explains(candidates) {
		q.subscriptions[0].candidates = candidates
		if answer, err = p.Options.bound(ctx, q.solve); err != nil {
			return err
		}
	}
	p.blame(dead, candidates, answer, classicHeldBack, effect{s.Channel, s.InstalledCSV, got, wanted.bundle.name})
	return nil
}

// wanted returns the candidate that OLM prefers, apart from what is meant not to be installed.
func (r *request) wanted() *entry {
	for _, e := range r.candidates {
		if !e.deprecated {
			return e
		}
	}
	return nil
}
