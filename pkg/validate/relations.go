package validate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// relations checks the relations between objects, once all objects are read.
type relations struct {
	validator *validator
	index     declcfg.Index
	scopes    map[declcfg.Key]*scope
	needs     map[declcfg.Key]*needs // of bundles, with a target
	noCSV     map[declcfg.Key]bool   // bundles without metadata of their ClusterServiceVersion
	wrong     map[string]bool        // packages with an object that breaks a rule of severity error

	room       int // number of problems that can still be added
	cel        *celRules
	unreadable unreadableParts
	hints      nearest.Finder

	listed       map[string]bool // by the policy; nil if it lists no packages
	firstPackage string          // the package whose definition comes first
}

// of returns the scope of m, which it creates if needed.
func (r *relations) of(m *declcfg.Meta) *scope {
	s := r.scopes[m.Key()]
	if s == nil {
		s = &scope{v: r.validator, meta: m, placer: m, room: &r.room}
		r.scopes[m.Key()] = s
	}
	return s
}

// problems returns the findings as problems with positions, in the order of their objects.
func (r *relations) problems(ctx context.Context) []*problem.Problem {
	byPlace := slices.SortedFunc(maps.Values(r.scopes), func(a, b *scope) int {
		return a.meta.Pos.Compare(b.meta.Pos)
	})
	var all []*problem.Problem
	for problems := range parallel.Map(ctx, 0, slices.Values(byPlace), (*scope).problems) {
		all = append(all, problems...)
	}
	return all
}

func (r *relations) check(ctx context.Context) {
	r.unreadable.assignDirs(&r.index)
	r.policyOfPackages()
	var known []string
	for name, defined := range r.index.Definitions() {
		if len(defined) > 0 {
			known = append(known, name)
		}
	}
	hasRules := slices.ContainsFunc(updateRules.Rules, func(u *problem.Rule) bool { return !r.validator.isOff(u) })
	sound := func(yield func(*declcfg.PackageIndex) bool) {
		for p := range r.index.Each() {
			if r.checkPackage(p, known); hasRules && r.isSound(p) && !yield(p) {
				return
			}
		}
	}
	r.updates(ctx, sound)
	r.heads(ctx)
}

// checkPackage checks the relations between the objects of a package.
func (r *relations) checkPackage(p *declcfg.PackageIndex, known []string) {
	switch {
	case p.Name == "": // each object without a package has a problem of its own
		return
	case len(p.Packages) == 0:
		r.unknownPackage(p, known)
	default:
		if !r.unreadable.mayHave(p.Name) {
			channels, bundles := namesOf(p.Channels), namesOf(p.Bundles)
			r.defaultChannel(p, channels)
			r.entryBundles(p, bundles)
			r.bundleChannels(p)
			r.deprecations(p, channels, bundles)
		}
		r.versions(p)
		r.ownRanges(p)
		r.policy(p)
		r.headMetadata(p)
		r.target(p)
	}
	r.duplicates(p)
}

// isSound reports whether a checked package is complete and has no errors.
func (r *relations) isSound(p *declcfg.PackageIndex) bool {
	isBroken := func(m *declcfg.Meta) bool {
		s := r.scopes[m.Key()]
		return s != nil && s.broken
	}
	return p.Name != "" && !r.wrong[p.Name] && !r.unreadable.mayHave(p.Name) && !slices.ContainsFunc(p.Metas(), isBroken)
}

// duplicates reports packages, channels, bundles and deprecations that are defined more than once.
func (r *relations) duplicates(p *declcfg.PackageIndex) {
	repeated(r, ruleDuplicatePackage, "duplicate package", p.Packages)
	repeated(r, ruleDuplicateChannel, fmt.Sprintf("package %q has duplicate channel", p.Name), p.Channels)
	repeated(r, ruleDuplicateBundle, fmt.Sprintf("package %q has duplicate bundle", p.Name), p.Bundles)
	for i, d := range p.Deprecations {
		if i > 0 {
			r.of(d.Meta).add(ruleDuplicateDeprecations, "/package",
				"expected a maximum of one deprecation per package: %q already has deprecations at %s",
				p.Name, p.Deprecations[0].Meta.Pos)
		}
	}
}

func repeated[T any](r *relations, rule *problem.Rule, what string, all []declcfg.Indexed[T]) {
	first := make(map[string]*declcfg.Meta, len(all))
	for _, o := range all {
		name := o.Meta.Name
		if before := first[name]; before == nil {
			first[name] = o.Meta
		} else if name != "" {
			r.of(o.Meta).add(rule, "/name", "%s %q: it is already defined at %s", what, name, before.Pos)
		}
	}
}

// unknownPackage reports every object of an unknown package.
func (r *relations) unknownPackage(p *declcfg.PackageIndex, known []string) {
	if r.unreadable.mayHave(p.Name) {
		return
	}
	hint := r.hints.Hint(p.Name, known)
	report := func(rule *problem.Rule, m *declcfg.Meta, kind string) {
		r.of(m).add(rule, "/package", "unknown package %q for %s %q%s", p.Name, kind, m.Name, hint)
	}
	for _, c := range p.Channels {
		report(ruleChannelPackage, c.Meta, "channel")
	}
	for _, b := range p.Bundles {
		report(ruleBundlePackage, b.Meta, "bundle")
	}
	for _, d := range p.Deprecations {
		r.of(d.Meta).add(ruleDeprecationsPackage, "/package",
			"cannot apply deprecations to an unknown package %q%s", p.Name, hint)
	}
}

type names struct {
	set  map[string]bool
	list []string // without repetitions, in the order read
}

func namesOf[T any](all []declcfg.Indexed[T]) names {
	n := names{set: make(map[string]bool, len(all))}
	for _, o := range all {
		if !n.set[o.Meta.Name] {
			n.set[o.Meta.Name] = true
			n.list = append(n.list, o.Meta.Name)
		}
	}
	return n
}

func (r *relations) defaultChannel(p *declcfg.PackageIndex, channels names) {
	for _, o := range p.Packages {
		if len(channels.list) == 0 { // so the default channel cannot exist either
			r.of(o.Meta).add(rulePackageChannels, "/name", "package must contain at least one channel: %q has none", p.Name)
			continue
		}
		if o.Value == nil || o.Value.DefaultChannel == "" || channels.set[o.Value.DefaultChannel] {
			continue
		}
		r.of(o.Meta).add(ruleDefaultChannel, "/defaultChannel", "default channel %q not found in channels list%s",
			o.Value.DefaultChannel, r.hints.Hint(o.Value.DefaultChannel, channels.list))
	}
}

func (r *relations) entryBundles(p *declcfg.PackageIndex, bundles names) {
	eachEntry(p, func(channel *declcfg.Meta, i int, e *declcfg.Entry) {
		if e.Name == "" || bundles.set[e.Name] {
			return
		}
		name := e.Name
		if legible.WhiteSpace(name, "") != "" {
			name = strconv.Quote(name)
		}
		f := r.of(channel).add(ruleEntryBundle, place.Item("/entries", i)+"/name",
			"no olm.bundle blobs found in package %q for olm.channel entries [%s]%s",
			p.Name, name, r.hints.Hint(e.Name, bundles.list))
		if f != nil {
			f.bundle, f.names = e.Name, []string{e.Name}
		}
	})
}

// eachEntry calls fn with the entries of each channel of a package that can be decoded, in order.
func eachEntry(p *declcfg.PackageIndex, fn func(channel *declcfg.Meta, i int, e *declcfg.Entry)) {
	for _, c := range p.Channels {
		if c.Value == nil {
			continue
		}
		for i := range c.Value.Entries {
			fn(c.Meta, i, &c.Value.Entries[i])
		}
	}
}

func (r *relations) bundleChannels(p *declcfg.PackageIndex) {
	listed := map[string]bool{}
	for _, c := range p.Channels {
		if c.Value == nil {
			return // the channel that cannot be decoded may list any bundle
		}
		for _, e := range c.Value.Entries {
			listed[e.Name] = true
		}
	}
	for _, b := range p.Bundles {
		if b.Meta.Name != "" && !listed[b.Meta.Name] {
			r.of(b.Meta).add(ruleBundleChannel, "/name",
				"package %q, bundle %q not found in any channel entries", p.Name, b.Meta.Name)
		}
	}
}

func (r *relations) deprecations(p *declcfg.PackageIndex, channels, bundles names) {
	for _, d := range p.Deprecations {
		if d.Value == nil {
			continue
		}
		for i, e := range d.Value.Entries {
			known, what := channels, "channel"
			switch e.Reference.Schema {
			case declcfg.SchemaChannel:
			case declcfg.SchemaBundle:
				known, what = bundles, "bundle"
			default:
				continue
			}
			if name := e.Reference.Name; name != "" && !known.set[name] {
				at := place.Item("/entries", i) + "/reference/name"
				f := r.of(d.Meta).add(ruleDeprecationReference, at, "cannot deprecate %s %q for package %q: %s not found%s",
					what, name, p.Name, what, r.hints.Hint(name, known.list))
				if f != nil && e.Reference.Schema == declcfg.SchemaBundle {
					f.bundle = name
				}
			}
		}
	}
}

func (r *relations) versions(p *declcfg.PackageIndex) {
	first := make(map[string]*declcfg.Meta, len(p.Bundles))
	for _, b := range p.Bundles {
		if b.Value == nil || b.Value.Version == nil {
			continue
		}
		version := b.Value.Version.String()
		switch other := first[version]; {
		case other == nil:
			first[version] = b.Meta
		case other.Name != b.Meta.Name: // duplicates reports a bundle that is defined twice
			f := r.of(b.Meta).add(ruleDuplicateVersion, "/properties",
				"duplicate versions found in bundles: [{%s: [%s, %s]}]; the first is at %s",
				version, other.Name, b.Meta.Name, other.Pos)
			if f != nil {
				f.names = []string{other.Name, b.Meta.Name}
			}
		}
	}
}

// versionsOf returns the versions of the bundles by name, without versions that cannot be parsed.
func versionsOf(p *declcfg.PackageIndex) map[string]*declcfg.Version {
	versions := make(map[string]*declcfg.Version, len(p.Bundles))
	for _, b := range p.Bundles {
		if b.Value != nil && b.Value.Version != nil {
			versions[b.Meta.Name] = b.Value.Version
		}
	}
	return versions
}

// ownRanges reports entries whose skipRange includes their own version: OLM Classic then finds the bundle itself as its
// update.
func (r *relations) ownRanges(p *declcfg.PackageIndex) {
	versions := versionsOf(p)
	eachEntry(p, func(channel *declcfg.Meta, i int, e *declcfg.Entry) {
		version := versions[e.Name]
		if e.SkipRange == "" || version == nil {
			return
		}
		if in, err := graph.ParseRange(e.SkipRange); err == nil && in.Contains(version.Semver) {
			r.of(channel).add(ruleSkipRangeSelf, place.Item("/entries", i)+"/skipRange",
				"skipRange %q of entry %q includes its own version %s", e.SkipRange, e.Name, version.Semver)
		}
	})
}
