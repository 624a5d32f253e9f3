package diff

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Problems returns the losses of users if the catalog after replaces the catalog before or, as a fragment, a part of
// it: those in packages of both. Each is a problem at the object of the catalog after that has lost something. Problems
// are sorted by position.
func (r *Report) Problems() []*problem.Problem {
	var all []*problem.Problem
	for i := range r.Packages {
		if p := &r.Packages[i]; p.Name != "" && p.Change == Changed {
			all = append(all, p.problems(r.After.Package(p.Name))...)
		}
	}
	return problem.Sort(all)
}

// problems returns the problems of a package. now are its objects in the catalog after.
func (p *Package) problems(now *declcfg.PackageIndex) []*problem.Problem {
	var all []*problem.Problem
	add := func(rule *problem.Rule, at *declcfg.Meta, what, format string, args ...any) *problem.Problem {
		found := &problem.Problem{
			Rule: rule.Name, Severity: rule.Severity, Package: p.Name, Names: []string{what},
			Path: fmt.Sprintf("package %q", p.Name), Message: report.Plain(fmt.Sprintf(format, args...)), Fix: rule.Fix,
		}
		if at != nil {
			found.Pos = at.Pos
		}
		all = append(all, found)
		return found
	}
	var whole *declcfg.Meta
	if metas := now.Metas(); len(metas) > 0 {
		whole = metas[0]
	}
	bundles, channels := metasOf(now.Bundles), metasOf(now.Channels)
	for _, b := range p.Bundles {
		switch {
		case b.Change == Removed:
			add(ruleBundleRemoved, whole, b.Name, "bundle %q is gone", b.Name).Bundle = b.Name
		case b.Change == Changed && b.Form == nil:
			found := add(ruleBundleChanged, bundles[b.Name], b.Name, "bundle %q is published with other content: %s",
				b.Name, b.content(true))
			found.Bundle = b.Name
		}
	}
	for _, c := range p.Channels {
		if c.Change == Removed {
			add(ruleChannelRemoved, whole, c.Name, "channel %q is gone", c.Name).Channel = c.Name
			continue
		}
		for _, name := range p.left(c) {
			found := add(ruleEntryRemoved, channels[c.Name], name, "entry %q is gone from channel %q", name, c.Name)
			found.Channel, found.Bundle = c.Name, name
		}
	}
	for _, s := range p.Stranded {
		if s.Reason == ChannelGone { // it is reported
			continue
		}
		for _, name := range s.all() {
			found := add(ruleUpdateLost, channels[s.Channel], name, "%q is no longer updated to the end of channel %q%s, %s",
				name, s.Channel, s.byOne(), s.since())
			found.Channel, found.Bundle = s.Channel, name
			found.Cause = fmt.Sprintf("%s: %s: %s", p.Name, s.Channel, s.since())
		}
	}
	return all
}

// metasOf returns the first object of each name.
func metasOf[T any](objects []declcfg.Indexed[T]) map[string]*declcfg.Meta {
	byName := map[string]*declcfg.Meta{}
	for _, o := range slices.Backward(objects) {
		byName[o.Meta.Name] = o.Meta
	}
	return byName
}
