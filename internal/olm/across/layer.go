package across

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A layer is a package in the catalog for one version of the platform, as one version of OLM sees it.
type layer struct {
	*Catalog
	olm   graph.Semantics
	index *declcfg.PackageIndex // nil if the catalog does not have the package
	graph *graph.Package        // also has the bundles of the other catalogs, since they may be installed

	channels []string // in the order of preference for a switch: the default channel, then by name, the last first
	byName   map[string]*channel
}

// A channel is a channel of a layer.
type channel struct {
	*graph.Channel // nil for operators that follow no channel
	plan           *graph.Plan
	err            error // the error of OLM Classic if it rejects the channel
}

// newLayers returns the layers of a package, in the order of the catalogs.
func newLayers(catalogs []*Catalog, pkg string, olm graph.Semantics, installed []Operator) []*layer {
	var summaries []declcfg.BundleSummary
	for _, c := range catalogs {
		if x := c.Index.Package(pkg); x != nil {
			for _, b := range x.Bundles {
				if b.Value != nil {
					summaries = append(summaries, *b.Value)
				}
			}
		}
	}
	for _, o := range installed {
		summaries = append(summaries, declcfg.BundleSummary{Name: o.Bundle, Version: o.Version})
	}
	var layers []*layer
	for _, c := range catalogs {
		l := &layer{Catalog: c, olm: olm, index: c.Index.Package(pkg), byName: map[string]*channel{}}
		x := l.index
		if x == nil {
			x = &declcfg.PackageIndex{Name: pkg}
		}
		l.graph = graph.NewPackage(x, summaries...)
		for _, c := range slices.Backward(l.graph.Channels) {
			l.channels = append(l.channels, c.Name)
		}
		slices.SortStableFunc(l.channels, l.graph.DefaultFirst)
		layers = append(layers, l)
	}
	return layers
}

// channel returns the channel with a name, or nil if the layer does not have it. "" is for operators without a channel.
func (l *layer) channel(name string) *channel {
	if c, ok := l.byName[name]; ok {
		return c
	}
	var c *channel
	if found := l.graph.Channel(name); found != nil || name == "" && l.index != nil {
		c = &channel{Channel: found}
		switch {
		case l.olm == graph.Classic:
			c.plan, c.err = l.graph.Classic(found)
		case found == nil:
			c.plan = l.graph.V1(graph.V1Options{})
		default:
			c.plan = l.graph.V1(graph.V1Options{Channels: []*graph.Channel{found}})
		}
	}
	l.byName[name] = c
	return c
}

// next returns the next update of a bundle in a channel, or nil.
func (l *layer) next(bundle, channel string) *graph.Bundle {
	c, b := l.channel(channel), l.graph.Bundle(bundle)
	if c == nil || b == nil {
		return nil
	}
	step, ok := c.plan.Next(b)
	if !ok || step.To.Virtual {
		return nil
	}
	return step.To
}

// has reports whether a bundle has an entry in a channel.
func (l *layer) has(bundle, channel string) bool {
	b := l.graph.Bundle(bundle)
	if c := l.channel(channel); c == nil || b == nil || b.Virtual {
		return false
	}
	if channel == "" {
		return true
	}
	return l.byName[channel].Index(bundle) >= 0
}

// accepts reports whether an operator with a bundle can follow a channel: the channel has an entry for it, or an
// update.
func (l *layer) accepts(bundle, channel string) bool {
	return l.has(bundle, channel) || l.next(bundle, channel) != nil
}

// channelsAccepting returns the channels that accept a bundle, the preferred channel first.
func (l *layer) channelsAccepting(bundle string) []string {
	return slices.DeleteFunc(slices.Clone(l.channels), func(name string) bool { return !l.accepts(bundle, name) })
}

// rejection returns the error of OLM Classic about the first channel that it rejects, or nil.
func (l *layer) rejection() error {
	for _, name := range l.channels {
		if err := l.channel(name).err; err != nil {
			return err
		}
	}
	return nil
}

// bundle returns the bundle with a name in the catalog, or nil.
func (l *layer) bundle(bundle string) *declcfg.Meta {
	if l.index == nil {
		return nil
	}
	for _, b := range l.index.Bundles {
		if b.Value != nil && b.Value.Name == bundle {
			return b.Meta
		}
	}
	return nil
}

// pos returns the position of the package in the catalog, the zero position if there is none.
func (l *layer) pos() declcfg.Pos {
	if l.index == nil || len(l.index.Packages) == 0 {
		return declcfg.Pos{}
	}
	return l.index.Packages[0].Meta.Pos
}

// A limit is the last version of OpenShift that an installed bundle supports.
type limit struct {
	version platform.Version
	err     error // if its olm.maxOpenShiftVersion is invalid, which blocks any upgrade
}

// limit returns the limit of a bundle, or nil if it has none.
func (l *layer) limit(bundle string) *limit {
	values := l.limits[bundleKey{l.graph.Name, bundle}]
	if len(values) == 0 || !l.isOpenShift() {
		return nil
	}
	read := map[graph.Semantics]func([]jsontext.Value) (*platform.Version, error){
		graph.Classic: platform.MaxOpenShift, graph.V1: platform.MaxOpenShiftV1,
	}[l.olm]
	switch v, err := read(values); {
	case err != nil:
		return &limit{err: err}
	case v != nil:
		return &limit{version: *v}
	}
	return nil
}
