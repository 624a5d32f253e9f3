package across

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// packagePlans are the plans of a package.
type packagePlans struct {
	layers []*layer // of the first version of OLM
	groups []*group // by the first bundle
	byKey  map[string]*group
	starts []start
}

// A start is an operator that may be installed on the first version of the platform: the start of a journey.
type start struct {
	bundle, channel string
	olm             []graph.Semantics
}

// A group is a Plan with the journeys that it describes, the lowest bundle first.
type group struct {
	Plan
	journeys []*journey
}

// plan makes the plans of a package.
func (o Options) plan(catalogs []*Catalog, pkg string) *packagePlans {
	var installed []Operator
	for _, in := range o.Operators {
		if in.Package == pkg {
			installed = append(installed, in)
		}
	}
	p := &packagePlans{byKey: map[string]*group{}}
	journeys := make([]map[graph.Semantics]*journey, 0)
	for _, olm := range o.OLM {
		s := &search{layers: newLayers(catalogs, pkg, olm, installed), nodes: map[state]*node{}}
		if p.layers == nil {
			p.layers, p.starts = s.layers, o.starts(s.layers[0], installed)
			for range p.starts {
				journeys = append(journeys, map[graph.Semantics]*journey{})
			}
		}
		nodes := make([]*node, len(p.starts))
		for i, from := range p.starts {
			if slices.Contains(from.olm, olm) {
				nodes[i] = s.node(state{bundle: from.bundle, channel: from.channel, last: s.last(0, from.bundle)})
			}
		}
		s.run()
		for i, n := range nodes {
			if n != nil {
				journeys[i][olm] = s.journey(n)
			}
		}
	}
	for _, byOLM := range journeys {
		p.group(pkg, o.OLM, byOLM)
	}
	return p
}

// starts returns the operators that may be installed on the first version of the platform.
func (o Options) starts(l *layer, installed []Operator) []start {
	var all []start
	if o.Operators != nil {
		for _, in := range installed {
			if slices.Contains(o.OLM, in.OLM) {
				all = append(all, start{in.Bundle, in.Channel, []graph.Semantics{in.OLM}})
			}
		}
		return all
	}
	for _, b := range l.graph.Bundles {
		if len(o.Bundles) > 0 && !slices.Contains(o.Bundles, b.Name) {
			continue
		}
		var olm []graph.Semantics
		for _, s := range o.OLM {
			if s == graph.Classic || b.Dependency == "" { // OLM v1 installs no bundle with dependencies
				olm = append(olm, s)
			}
		}
		for _, c := range l.graph.Channels {
			if isNamed := len(o.Bundles) > 0 && l.accepts(b.Name, c.Name); isNamed || l.has(b.Name, c.Name) {
				all = append(all, start{b.Name, c.Name, olm})
			}
		}
	}
	return all
}

// group adds the journeys of one start to the plans. Equal journeys in several versions of OLM are merged.
func (p *packagePlans) group(pkg string, order []graph.Semantics, byOLM map[graph.Semantics]*journey) {
	var same [][]graph.Semantics
	for _, olm := range order {
		j := byOLM[olm]
		if j == nil {
			continue
		}
		i := slices.IndexFunc(same, func(s []graph.Semantics) bool { return byOLM[s[0]].key() == j.key() })
		if i < 0 {
			same = append(same, []graph.Semantics{olm})
		} else {
			same[i] = append(same[i], olm)
		}
	}
	for _, olm := range same {
		j := byOLM[olm[0]]
		key := fmt.Sprint(olm, j.key())
		g := p.byKey[key]
		if g == nil {
			g = &group{Plan: Plan{Package: pkg, OLM: olm, Steps: j.steps}}
			p.byKey[key] = g
			p.groups = append(p.groups, g)
		}
		g.journeys = append(g.journeys, j)
		last := len(g.Installed) - 1
		if last < 0 || g.Installed[last].Bundle != j.bundle {
			g.Installed = append(g.Installed, Installed{Bundle: j.bundle})
			last++
		}
		g.Installed[last].Channels = append(g.Installed[last].Channels, j.channel)
	}
}

// key returns a text that is equal for all journeys that one Plan describes.
func (j *journey) key() string {
	key := fmt.Sprint(j.steps)
	if o := j.obstacle; o != nil {
		key += fmt.Sprint(o.rule.Name, o.layer, o.limit)
	}
	return key
}
