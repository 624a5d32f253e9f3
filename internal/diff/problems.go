package diff

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Problems returns what users of the catalog before lose with the catalog after, which may be a fragment of it: only
// packages that both have are compared. Each problem is placed at the object after that has lost something. They are
// sorted.
func (r *Report) Problems() []*problem.Problem {
	var all []*problem.Problem
	for i := range r.Packages {
		if p := &r.Packages[i]; p.Name != "" && p.Change == Changed {
			all = append(all, p.problems(r.After.Package(p.Name))...)
		}
	}
	return problem.Sort(all)
}

// problems returns the problems of a package, which is now.
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
	inChannel := func(name string) *declcfg.Meta { return metaOf(now.Channels, name, whole) }
	for _, b := range p.Bundles {
		switch {
		case b.Change == Removed:
			add(ruleBundleRemoved, whole, b.Name, "bundle %q is gone", b.Name).Bundle = b.Name
		case b.Change == Changed && b.Form == nil:
			at := metaOf(now.Bundles, b.Name, whole)
			add(ruleBundleChanged, at, b.Name, "bundle %q is published with other content: %s", b.Name, b.content(true)).
				Bundle = b.Name
		}
	}
	for _, c := range p.Channels {
		if c.Change == Removed {
			add(ruleChannelRemoved, whole, c.Name, "channel %q is gone", c.Name).Channel = c.Name
			continue
		}
		for _, name := range p.left(c) {
			found := add(ruleEntryRemoved, inChannel(c.Name), name, "entry %q is gone from channel %q", name, c.Name)
			found.Channel, found.Bundle = c.Name, name
		}
	}
	for _, s := range p.Stranded {
		if s.Reason == ChannelGone { // it is reported
			continue
		}
		for _, name := range s.all() {
			found := add(ruleUpdateLost, inChannel(s.Channel), name, "%q is no longer updated to the end of channel %q%s, %s",
				name, s.Channel, s.byOne(), s.since())
			found.Channel, found.Bundle = s.Channel, name
			found.Cause = fmt.Sprintf("%s: %s: %s", p.Name, s.Channel, s.since())
		}
	}
	return all
}

// metaOf returns the object with a name, or another one if there is none.
func metaOf[T any](objects []declcfg.Indexed[T], name string, other *declcfg.Meta) *declcfg.Meta {
	if i := slices.IndexFunc(objects, func(o declcfg.Indexed[T]) bool { return o.Meta.Name == name }); i >= 0 {
		return objects[i].Meta
	}
	return other
}
