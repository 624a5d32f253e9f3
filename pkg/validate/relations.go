package validate

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// relations checks what relates objects to each other, once all of them were read.
type relations struct {
	validator *validator
	index     declcfg.Index
	scopes    map[*declcfg.Meta]*scope

	lost lost
}

// A lost is what could not be read. What only seems to be missing because of it is not reported.
type lost struct {
	everything bool
	packages   map[string]bool // that unreadable documents mention
	dirs       map[string]bool // that hold files of which nothing is known
}

// lose takes note of an error of reading.
func (r *relations) lose(err error) {
	l := &r.lost
	e, ok := errors.AsType[*declcfg.Error](err)
	switch {
	case !ok:
		l.everything = true
	case e.Lost == nil:
		l.dirs = with(l.dirs, path.Dir(e.Pos.File))
	default:
		for _, name := range e.Lost {
			l.packages = with(l.packages, name)
		}
	}
}

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}

// incomplete tells whether objects of p may be missing because they could not be read.
func (r *relations) incomplete(p *declcfg.PackageIndex) bool {
	if r.lost.everything || r.lost.packages[p.Name] {
		return true
	}
	if len(r.lost.dirs) == 0 {
		return false
	}
	for _, m := range p.Metas() {
		if r.lost.dirs[path.Dir(m.Pos.File)] {
			return true
		}
	}
	return r.lostElsewhere()
}

// lostElsewhere tells whether a file was lost in a directory that holds nothing else, which may belong to any package.
func (r *relations) lostElsewhere() bool {
	known := map[string]bool{}
	for _, p := range r.index.Packages() {
		for _, m := range p.Metas() {
			known[path.Dir(m.Pos.File)] = true
		}
	}
	for dir := range r.lost.dirs {
		if !known[dir] {
			return true
		}
	}
	return false
}

// of returns the scope of m.
func (r *relations) of(m *declcfg.Meta) *scope {
	s := r.scopes[m]
	if s == nil {
		s = &scope{v: r.validator, meta: m}
		r.scopes[m] = s
	}
	return s
}

// problems places what was found.
func (r *relations) problems(ctx context.Context) []*Problem {
	byPlace := slices.SortedFunc(maps.Values(r.scopes), func(a, b *scope) int {
		return a.meta.Pos.Compare(b.meta.Pos)
	})
	var all []*Problem
	for problems := range parallel.Map(ctx, 0, slices.Values(byPlace), (*scope).problems) {
		all = append(all, problems...)
	}
	return all
}

func (r *relations) check() {
	var names []string
	for _, p := range r.index.Packages() {
		if len(p.Packages) > 0 {
			names = append(names, p.Name)
		}
	}
	for _, p := range r.index.Packages() {
		r.duplicates(p)
		switch {
		case p.Name == "": // each object without a package is reported by itself
		case len(p.Packages) == 0:
			if !r.incomplete(p) {
				r.unknownPackage(p, names)
			}
		default:
			r.pkg(p)
		}
	}
}

// duplicates reports what is defined more than once.
func (r *relations) duplicates(p *declcfg.PackageIndex) {
	if p.Name == "" {
		return
	}
	repeated(r, "duplicate-package", "package", p.Packages)
	repeated(r, "duplicate-channel", "channel", p.Channels)
	repeated(r, "duplicate-bundle", "bundle", p.Bundles)
	for i := range p.Deprecations {
		if i > 0 {
			r.of(p.Deprecations[i].Meta).add("duplicate-deprecations", "/package",
				"package %q has deprecations at %s already", p.Name, p.Deprecations[0].Meta.Pos)
		}
	}
}

func repeated[T any](r *relations, rule, what string, all []declcfg.Indexed[T]) {
	first := make(map[string]*declcfg.Meta, len(all))
	for _, o := range all {
		name := o.Meta.Name
		if before := first[name]; before == nil {
			first[name] = o.Meta
		} else if name != "" {
			r.of(o.Meta).add(rule, "/name", "%s %q is defined at %s already", what, name, before.Pos)
		}
	}
}

// unknownPackage reports every object that belongs to a package that is not there.
func (r *relations) unknownPackage(p *declcfg.PackageIndex, names []string) {
	report := func(rule string, m *declcfg.Meta) {
		r.of(m).add(rule, "/package", "the catalog has no package %q%s", p.Name, nearest.Hint(p.Name, names))
	}
	for _, c := range p.Channels {
		report("channel-package", c.Meta)
	}
	for _, b := range p.Bundles {
		report("bundle-package", b.Meta)
	}
	for _, d := range p.Deprecations {
		report("deprecations-package", d.Meta)
	}
}

// pkg checks the objects of one package against each other.
func (r *relations) pkg(p *declcfg.PackageIndex) {
	channels := names(p.Channels)
	bundles := names(p.Bundles)
	if !r.incomplete(p) {
		r.defaultChannel(p, channels)
		r.entryBundles(p, bundles)
		r.bundleChannels(p)
		r.deprecations(p, channels, bundles)
	}
	r.versions(p)
	r.ownRanges(p)
}

// names returns the set of names.
func names[T any](all []declcfg.Indexed[T]) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, o := range all {
		set[o.Meta.Name] = true
	}
	return set
}

func (r *relations) defaultChannel(p *declcfg.PackageIndex, channels map[string]bool) {
	for _, o := range p.Packages {
		s := r.of(o.Meta)
		if len(channels) == 0 {
			s.add("package-channels", "/name", "package %q has no channels", p.Name)
		}
		switch {
		case o.Value == nil:
		case o.Value.DefaultChannel == "":
			s.add("default-channel", "/defaultChannel", "package %q has no default channel", p.Name)
		case !channels[o.Value.DefaultChannel]:
			s.add("default-channel", "/defaultChannel", "the default channel %q of package %q does not exist%s",
				o.Value.DefaultChannel, p.Name, nearest.Hint(o.Value.DefaultChannel, slices.Collect(maps.Keys(channels))))
		}
	}
}

// entryBundles reports entries without a bundle, in whichever channel they stand.
func (r *relations) entryBundles(p *declcfg.PackageIndex, bundles map[string]bool) {
	for _, c := range p.Channels {
		if c.Value == nil {
			continue
		}
		for i, e := range c.Value.Entries {
			if e.Name != "" && !bundles[e.Name] {
				r.of(c.Meta).add("entry-bundle", index("/entries", i)+"/name", "no bundle %q%s", e.Name,
					nearest.Hint(e.Name, slices.Collect(maps.Keys(bundles))))
			}
		}
	}
}

// bundleChannels reports bundles that are in no channel.
func (r *relations) bundleChannels(p *declcfg.PackageIndex) {
	listed := map[string]bool{}
	for _, c := range p.Channels {
		if c.Value == nil {
			return // whatever is missing may be listed there
		}
		for _, e := range c.Value.Entries {
			listed[e.Name] = true
		}
	}
	for _, b := range p.Bundles {
		if b.Meta.Name != "" && !listed[b.Meta.Name] {
			r.of(b.Meta).add("bundle-channel", "/name", "bundle %q is in no channel of package %q", b.Meta.Name, p.Name)
		}
	}
}

func (r *relations) deprecations(p *declcfg.PackageIndex, channels, bundles map[string]bool) {
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
			if !known[e.Reference.Name] {
				r.of(d.Meta).add("deprecation-reference", index("/entries", i)+"/reference/name",
					"package %q has no %s %q%s", p.Name, what, e.Reference.Name,
					nearest.Hint(e.Reference.Name, slices.Collect(maps.Keys(known))))
			}
		}
	}
}

// versions reports bundles that share a version.
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
		case other.Name != b.Meta.Name: // a bundle that is defined twice is reported as that
			r.of(b.Meta).add("duplicate-version", "/properties", "bundles %q and %q have the same version %s; the first is at %s",
				other.Name, b.Meta.Name, version, other.Pos)
		}
	}
}

// ownRanges reports entries whose skipRange holds their own version: OLM Classic updates such a bundle to itself.
func (r *relations) ownRanges(p *declcfg.PackageIndex) {
	versions := make(map[string]semver.Version, len(p.Bundles))
	for _, b := range p.Bundles {
		if b.Value != nil && b.Value.Version != nil {
			versions[b.Meta.Name] = b.Value.Version.Semver
		}
	}
	for _, c := range p.Channels {
		if c.Value == nil {
			continue
		}
		for i, e := range c.Value.Entries {
			version, ok := versions[e.Name]
			if e.SkipRange == "" || !ok {
				continue
			}
			if in, err := semver.ParseRange(e.SkipRange); err == nil && in(version) {
				at := index("/entries", i) + jsontext.Pointer("/skipRange")
				r.of(c.Meta).add("skip-range-self", at, "the skipRange %q of %q holds its own version %s",
					e.SkipRange, e.Name, version)
			}
		}
	}
}
