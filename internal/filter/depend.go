package filter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A follower adds the dependencies of kept bundles to a selection.
type follower struct {
	*selector
	provided map[*resolve.Dependency]bool // whether a followed dependency has a provider
	ranks    map[string]map[string]int    // by package and bundle; see rank
}

// followDependencies keeps the dependencies of kept bundles, and their dependencies in turn. If no kept bundle provides
// a dependency, it keeps the newest provider of every package that has one.
func (s *selector) followDependencies(ctx context.Context) error {
	d := follower{s, map[*resolve.Dependency]bool{}, map[string]map[string]int{}}
	var queue []*declcfg.Meta
	for _, x := range s.catalog.Index.Packages() {
		for _, b := range x.Bundles {
			if s.isKept(b.Meta) {
				queue = append(queue, b.Meta)
			}
		}
	}
	for len(queue) > 0 {
		added, err := d.follow(ctx, queue[0])
		if err != nil {
			return err
		}
		queue = append(queue[1:], added...)
	}
	return nil
}

// follow keeps the missing dependencies of a bundle, and returns them.
func (d *follower) follow(ctx context.Context, by *declcfg.Meta) (added []*declcfg.Meta, err error) {
	dependencies, err := d.catalog.Dependencies.Of(ctx, by)
	for _, on := range dependencies {
		if _, done := d.provided[on]; !done {
			d.provided[on] = len(on.Providers) > 0
			for _, bundle := range d.missing(on.Providers) {
				p := d.packages[bundle.Package]
				if p == nil {
					p = d.addPackage(d.part(bundle.Package), Package{Name: bundle.Package})
				}
				k := p.channelWith(bundle.Name)
				k.keep[bundle.Name] = true
				p.change(Change{Kind: DependencyAdded, Channel: k.graph.Name, Bundle: bundle.Name, Message: fmt.Sprintf(
					"%q is kept, since %q requires it", bundle.Name, by.Name)})
				added = append(added, bundle)
			}
		}
		if !d.provided[on] {
			d.changes = append(d.changes, Change{Package: by.Package, Bundle: by.Name, Kind: DependencyMissing,
				Message: fmt.Sprintf("%q requires an operator %s, and the catalog has none", by.Name, on.Sentence)})
		}
	}
	return added, err
}

// missing returns the newest provider of each package, preferably in its default channel, like OLM. It returns nil if a
// provider is already kept.
func (d *follower) missing(providers []*declcfg.Meta) (add []*declcfg.Meta) {
	if slices.ContainsFunc(providers, d.isKept) {
		return nil
	}
	byPackage := map[string][]*declcfg.Meta{}
	for _, p := range providers {
		if !d.isListed(p) {
			continue
		}
		byPackage[p.Package] = append(byPackage[p.Package], p)
	}
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		rank := d.rank(pkg)
		add = append(add, slices.MaxFunc(byPackage[pkg], func(a, b *declcfg.Meta) int {
			return cmp.Compare(rank[a.Name], rank[b.Name])
		}))
	}
	return add
}

// isListed reports whether a usable channel has the bundle.
func (d *follower) isListed(bundle *declcfg.Meta) bool {
	if x := d.catalog.Index.Package(bundle.Package); x == nil || len(x.Packages) == 0 {
		return false
	}
	part := d.part(bundle.Package)
	return part.index != nil && slices.ContainsFunc(part.index.Channels, func(c declcfg.Indexed[declcfg.Channel]) bool {
		isIt := func(e declcfg.Entry) bool { return e.Name == bundle.Name }
		return c.Value != nil && slices.ContainsFunc(c.Value.Entries, isIt)
	})
}

// rank returns the rank of each bundle of a package; the preferred bundle has the highest.
func (d *follower) rank(pkg string) map[string]int {
	if rank := d.ranks[pkg]; rank != nil {
		return rank
	}
	g := graph.NewPackage(d.part(pkg).index)
	var isDefault map[string]bool
	if c := g.Channel(g.DefaultChannel); c != nil {
		isDefault = setOf(names(c.Entries()))
	}
	rank := map[string]int{}
	for i, b := range g.Bundles {
		if rank[b.Name] = i; isDefault[b.Name] {
			rank[b.Name] += len(g.Bundles)
		}
	}
	d.ranks[pkg] = rank
	return rank
}

// isKept reports whether a bundle is kept in a channel.
func (s *selector) isKept(bundle *declcfg.Meta) bool {
	p := s.packages[bundle.Package]
	if p == nil {
		return false
	}
	for _, k := range p.channels {
		if k.keep[bundle.Name] {
			return true
		}
	}
	return false
}

// channelWith returns a kept channel that has the bundle, and keeps one if necessary. A valid package has such a
// channel.
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
	i := slices.IndexFunc(channels, func(c *graph.Channel) bool { return inChannel(c, bundle) })
	return p.keepChannel(channels[i])
}
