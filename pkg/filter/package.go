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
	case wanted != "" && p.channels[wanted] == nil:
		return fmt.Errorf("package %q: the default channel %q is not among the channels that are kept: %s",
			p.graph.Name, wanted, strings.Join(slices.Sorted(maps.Keys(p.channels)), ", "))
	case wanted != "":
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
	return nil
}

// compareHead orders channels by the version of their heads, then by [graph.CompareChannels].
func (c *keptChannel) compareHead(d *keptChannel) int {
	version := func(c *keptChannel) (v declcfg.Version) {
		if b := c.pkg.Bundle(c.head); b.Version != nil {
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
