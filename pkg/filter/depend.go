package filter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// A constraint is what a bundle depends on, in the form of olm.constraint.
type constraint struct {
	Package *declcfg.PackageRequired `json:"package"`
	GVK     *declcfg.GVK             `json:"gvk"`
	CEL     *struct{}                `json:"cel"`
	All     *constraints             `json:"all"`
	Any     *constraints             `json:"any"`
}

type constraints struct {
	Constraints []constraint `json:"constraints"`
}

// constraintOf returns what a property demands, nil for nothing.
func constraintOf(p resolve.Property) *constraint {
	c := new(constraint)
	var err error
	switch p.Type {
	case declcfg.PropertyPackageRequired:
		c.Package = new(declcfg.PackageRequired)
		err = p.Unmarshal(c.Package)
	case declcfg.PropertyGVKRequired:
		c.GVK = new(declcfg.GVK)
		err = p.Unmarshal(c.GVK)
	case declcfg.PropertyConstraint:
		err = json.Unmarshal(p.Value, c)
	default:
		return nil
	}
	if err != nil { // which a valid catalog does not have
		return nil
	}
	return c
}

// String completes a sentence that begins with what requires it.
func (c *constraint) String() string {
	switch {
	case c.CEL != nil:
		return "a CEL rule, which is not followed"
	case c.GVK != nil:
		return fmt.Sprintf("%s of %s/%s, which nothing provides", c.GVK.Kind, c.GVK.Group, c.GVK.Version)
	case c.Package != nil && c.Package.VersionRange == "":
		return fmt.Sprintf("package %q, which is not in the catalog", c.Package.PackageName)
	case c.Package != nil:
		return fmt.Sprintf("package %q in a version that satisfies %q, which is not in the catalog",
			c.Package.PackageName, c.Package.VersionRange)
	}
	return "several things, of which not all are in the catalog"
}

// A candidate is a bundle of the catalog.
type candidate struct{ pkg, name string }

// A follower keeps what bundles that are kept depend on.
type follower struct {
	*selector
	metas  map[candidate]*declcfg.Meta
	apis   map[declcfg.GVK][]candidate
	known  map[string]bool           // whether there is a provider, by property
	graphs map[string]*graph.Package // by name, as far as they were needed
}

// followDependencies keeps what bundles that are kept depend on, and what that depends on: if nothing that is kept
// provides it, the newest version that does, of every package that has one.
func (f *selector) followDependencies() {
	d := follower{
		f, map[candidate]*declcfg.Meta{}, map[declcfg.GVK][]candidate{}, map[string]bool{}, map[string]*graph.Package{},
	}
	var queue []candidate
	for _, x := range f.catalog.Index.Packages() {
		if len(x.Packages) == 0 {
			continue
		}
		for _, b := range x.Bundles {
			c := candidate{x.Name, b.Meta.Name}
			d.addBundle(c, b)
			if f.isKept(c) {
				queue = append(queue, c)
			}
		}
	}
	for len(queue) > 0 {
		by := queue[0]
		queue = append(queue[1:], d.follow(by)...)
	}
}

// addBundle enters a bundle that may be installed, with the APIs that it provides.
func (d *follower) addBundle(c candidate, b declcfg.Indexed[declcfg.BundleSummary]) {
	d.metas[c] = b.Meta
	if b.Value == nil || b.Value.Version == nil || b.Value.Deprecated {
		return
	}
	for _, p := range d.catalog.Properties(b.Meta) {
		var api declcfg.GVK
		if p.Type == declcfg.PropertyGVK && p.Unmarshal(&api) == nil {
			d.apis[api] = append(d.apis[api], c)
		}
	}
}

// follow keeps what a bundle depends on and returns it.
func (d *follower) follow(by candidate) (added []candidate) {
	for _, p := range d.catalog.Properties(d.metas[by]) {
		c := constraintOf(p)
		if c == nil {
			continue
		}
		key := p.Type + " " + string(p.Value)
		if _, done := d.known[key]; !done {
			var more []candidate
			more, d.known[key] = d.providers(c)
			for _, add := range more {
				d.keep(add, by)
			}
			added = append(added, more...)
		}
		if !d.known[key] {
			d.changes = append(d.changes, Change{Package: by.pkg, Bundle: by.name, Kind: DependencyMissing,
				Message: fmt.Sprintf("%q requires %s", by.name, c)})
		}
	}
	return added
}

// providers returns what has to be added to satisfy a constraint, and false if nothing can be.
func (d *follower) providers(c *constraint) (add []candidate, ok bool) {
	switch {
	case c.Package != nil:
		return d.newest(d.versions(c.Package))
	case c.GVK != nil:
		return d.newest(d.apis[*c.GVK])
	case c.All != nil:
		for i := range c.All.Constraints {
			more, ok := d.providers(&c.All.Constraints[i])
			if !ok {
				return nil, false
			}
			add = append(add, more...)
		}
		return add, true
	case c.Any != nil:
		return d.fewest(c.Any.Constraints)
	}
	return nil, c.CEL == nil // what must not be installed has no provider
}

// fewest returns what has to be added for the first of the constraints that needs the fewest bundles.
func (d *follower) fewest(all []constraint) (add []candidate, ok bool) {
	for i := range all {
		more, satisfied := d.providers(&all[i])
		if satisfied && (!ok || len(more) < len(add)) {
			add, ok = more, true
		}
	}
	return add, ok
}

// versions returns the bundles of a package in a range, which may be empty for any version.
func (d *follower) versions(of *declcfg.PackageRequired) []candidate {
	x := d.catalog.Index.Package(of.PackageName)
	versions, err := graph.ParseRange(of.VersionRange)
	if x == nil || len(x.Packages) == 0 || err != nil && of.VersionRange != "" {
		return nil
	}
	var all []candidate
	for _, b := range x.Bundles {
		v := b.Value
		if v != nil && v.Version != nil && !v.Deprecated && (of.VersionRange == "" || versions.Contains(v.Version.Semver)) {
			all = append(all, candidate{x.Name, v.Name})
		}
	}
	return all
}

// newest returns the newest candidate of each package, preferably in its default channel as OLM prefers it, none if one
// is kept already, and false if there are no candidates.
func (d *follower) newest(all []candidate) (add []candidate, ok bool) {
	if slices.ContainsFunc(all, d.isKept) {
		return nil, true
	}
	byPackage := map[string][]string{}
	for _, c := range all {
		byPackage[c.pkg] = append(byPackage[c.pkg], c.name)
	}
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		g := d.graphs[pkg]
		if g == nil {
			g = graph.NewPackage(d.catalog.Index.Package(pkg))
			d.graphs[pkg] = g
		}
		add = append(add, candidate{pkg, slices.MaxFunc(byPackage[pkg], func(a, b string) int {
			return cmp.Or(
				-cmp.Compare(notIn(g, g.DefaultChannel, a), notIn(g, g.DefaultChannel, b)),
				g.Bundle(a).Version.Compare(*g.Bundle(b).Version),
			)
		})})
	}
	return add, len(add) > 0
}

// notIn is 0 for a bundle that is an entry of a channel, and 1 for others.
func notIn(g *graph.Package, channel, bundle string) int {
	if c := g.Channel(channel); c != nil && inChannel(c, bundle) {
		return 0
	}
	return 1
}

func (f *selector) isKept(c candidate) bool {
	p := f.packages[c.pkg]
	if p == nil {
		return false
	}
	for _, k := range p.channels {
		if k.keep[c.name] {
			return true
		}
	}
	return false
}

// keep keeps a bundle for another one: in a channel that is kept, else in the default channel, else in another.
func (d *follower) keep(c, by candidate) {
	p := d.packages[c.pkg]
	if p == nil {
		p = d.open(d.catalog.Index.Package(c.pkg), Package{Name: c.pkg})
	}
	k := p.channelWith(c.name)
	if k == nil { // the bundle is in no channel, so that the catalog is not valid
		return
	}
	k.keep[c.name] = true
	p.change(Change{Kind: DependencyAdded, Channel: k.graph.Name, Bundle: c.name, Message: fmt.Sprintf(
		"%q is kept, since %q requires it", c.name, by.name)})
}

// channelWith returns a channel that has the bundle, nil for none.
func (p *keptPackage) channelWith(bundle string) *keptChannel {
	for _, k := range p.sortedChannels() {
		if inChannel(k.graph, bundle) {
			return k
		}
	}
	channels := slices.Clone(p.graph.Channels)
	if i := slices.Index(channels, p.graph.Channel(p.graph.DefaultChannel)); i > 0 {
		channels[0], channels[i] = channels[i], channels[0]
	}
	for _, c := range channels {
		if inChannel(c, bundle) {
			return p.keepChannel(c)
		}
	}
	return nil
}
