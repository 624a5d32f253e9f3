package filter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// finish repairs the channels and chooses the default channel.
func (p *keptPackage) finish() error {
	channels := p.sortedChannels()
	for _, c := range channels {
		for _, change := range c.repair() {
			p.change(change)
		}
		for name := range c.keep {
			p.bundles[name] = true
		}
	}
	was := p.graph.DefaultChannel
	switch wanted := p.wanted.DefaultChannel; {
	case wanted != "" && p.channels[wanted] == nil && !p.unusable[wanted]:
		return p.wanted.located("/defaultChannel", fmt.Errorf(
			"package %q: the default channel %q is not among the channels that are kept: %s",
			p.graph.Name, wanted, strings.Join(slices.Sorted(maps.Keys(p.channels)), ", ")))
	case p.channels[wanted] != nil:
		p.defaultChannel = wanted
	case p.channels[was] != nil:
		p.defaultChannel = was
	default:
		p.defaultChannel = slices.MaxFunc(channels, (*keptChannel).compareHead).graph.Name
	}
	if p.defaultChannel != was {
		p.change(Change{Kind: DefaultChannelChanged, Channel: p.defaultChannel, Message: fmt.Sprintf(
			"the default channel is %q, was %q", p.defaultChannel, was)})
	}
	p.checkUpdates()
	return nil
}

// checkUpdates reports the bundles that users without a channel have installed, and whose updates no longer end at the
// head of a channel: edges of several channels contribute to their updates, so the repairs of the channels may not be
// enough.
func (p *keptPackage) checkUpdates() {
	whole := len(p.channels) == len(p.graph.Channels) && len(p.bundles) == len(p.index.Bundles)
	var heads []string
	for _, c := range p.channels {
		whole = whole && len(c.keep) == len(c.graph.Entries())
		heads = append(heads, c.head)
	}
	if whole {
		return
	}
	after := repaired(p.index, p.bundles, p.defaultChannel, p.sortedChannels()...)
	classic, _ := p.graph.Classic(nil)
	newClassic, _ := after.Classic(nil)
	known := map[string]bool{} // bundles that were reported for a channel
	for _, c := range p.changes {
		known[c.Bundle] = known[c.Bundle] || c.Kind == Stranded
	}
	for _, of := range []struct {
		before, after *graph.Plan
		user          string
	}{
		{classic, newClassic, ", for a Subscription without a channel,"},
		{p.graph.V1(graph.V1Options{}), after.V1(graph.V1Options{}), ", for a ClusterExtension without channels,"},
	} {
		arrived, arrives := arrive(of.before, heads...), arrive(of.after, heads...)
		for _, b := range after.Bundles {
			if !p.bundles[b.Name] || known[b.Name] || refuses(of.after, b) {
				continue
			}
			if arrived(p.graph.Bundle(b.Name)) && !arrives(b) {
				p.change(Change{Kind: Stranded, Bundle: b.Name, Message: strandedMessage(of.after, b.Name, of.user)})
			}
		}
	}
}

// repaired returns the graph of a part of a package: some bundles, and channels with their repaired edges.
func repaired(
	x *declcfg.PackageIndex, bundles map[string]bool, defaultChannel string, channels ...*keptChannel,
) *graph.Package {
	return graph.NewPackage(repairedIndex(x, bundles, defaultChannel, channels...))
}

// repairedIndex returns the index of a part of a package; see repaired.
func repairedIndex(
	x *declcfg.PackageIndex, bundles map[string]bool, defaultChannel string, channels ...*keptChannel,
) *declcfg.PackageIndex {
	part := &declcfg.PackageIndex{Name: x.Name, Deprecations: x.Deprecations}
	pkg := &declcfg.Package{Name: x.Name, DefaultChannel: defaultChannel}
	part.Packages = []declcfg.Indexed[declcfg.Package]{{Meta: x.Packages[0].Meta, Value: pkg}}
	metas := map[string]*declcfg.Meta{}
	for _, c := range x.Channels {
		metas[c.Meta.Name] = c.Meta
	}
	for _, c := range channels {
		ch := &declcfg.Channel{Name: c.graph.Name}
		for _, e := range c.graph.Entries() {
			if c.keep[e.Name] {
				ch.Entries = append(ch.Entries, *c.entries[e.Name])
			}
		}
		part.Channels = append(part.Channels, declcfg.Indexed[declcfg.Channel]{Meta: metas[ch.Name], Value: ch})
	}
	part.Bundles = slices.DeleteFunc(slices.Clone(x.Bundles), func(b declcfg.Indexed[declcfg.BundleSummary]) bool {
		return !bundles[b.Meta.Name]
	})
	return part
}

// compareHead orders channels by the version of their heads, then by [graph.CompareChannels].
func (c *keptChannel) compareHead(d *keptChannel) int {
	version := func(c *keptChannel) (v declcfg.Version) {
		if b := c.pkg.Bundle(c.head); b != nil && b.Version != nil {
			v = *b.Version
		}
		return v
	}
	return cmp.Or(version(c).Compare(version(d)), graph.CompareChannels(c.graph.Name, d.graph.Name))
}

// keepsDeprecation reports whether the deprecated object is kept.
func (p *keptPackage) keepsDeprecation(d declcfg.Deprecation) bool {
	switch d.Reference.Schema {
	case declcfg.SchemaChannel:
		return p.channels[d.Reference.Name] != nil
	case declcfg.SchemaBundle:
		return p.bundles[d.Reference.Name]
	}
	return true
}

// Edit applies the changes to an object of Metas other than a bundle, before it is written; see [declcfg.WriteOptions].
func (r *Result) Edit(object any) {
	switch v := object.(type) {
	case *declcfg.Package:
		v.DefaultChannel = r.packages[v.Name].defaultChannel
	case *declcfg.Channel:
		c := r.packages[v.Package].channels[v.Name]
		kept := v.Entries[:0]
		for _, e := range v.Entries {
			if repaired := c.entries[e.Name]; repaired != nil {
				e.Replaces, e.Skips = repaired.Replaces, repaired.Skips
				kept = append(kept, e)
			}
		}
		v.Entries = kept
	case *declcfg.Deprecations:
		p := r.packages[v.Package]
		v.Entries = slices.DeleteFunc(v.Entries, func(d declcfg.Deprecation) bool { return !p.keepsDeprecation(d) })
	}
}
