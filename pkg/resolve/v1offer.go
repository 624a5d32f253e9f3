package resolve

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// A V1Catalog is what a catalog has for an [Extension].
type V1Catalog struct {
	Name     string `json:"name"`
	Priority int    `json:"priority"`

	// Why says why nothing of it is chosen, as a sentence without a full stop that calls the catalog "it". It is "" for
	// the chosen catalog, and for those that OLM did not get to because of an error.
	Why string `json:"why,omitzero"`

	// Candidates are the bundles that may be chosen, the preferred one first. The first of the chosen catalog is chosen.
	Candidates []V1Candidate `json:"candidates,omitzero"`

	offer *offer // nil if the package was not looked at
}

// A V1Candidate is a bundle of the package.
type V1Candidate struct {
	Bundle     string     `json:"bundle"`
	Version    string     `json:"version,omitzero"`
	Deprecated bool       `json:"deprecated,omitzero"`
	By         graph.Edge `json:"by,omitzero"`      // as in [V1Choice]
	Channel    string     `json:"channel,omitzero"` // that has the edge

	// Why says why it does not come first, or why it is not a candidate, as a sentence without a full stop that calls the
	// bundle "it". It is "" for the first candidate.
	Why string `json:"why,omitzero"`
}

// An offer holds the candidates in one catalog.
type offer struct {
	*Catalog
	pkg       *graph.Package
	options   graph.V1Options
	installed *graph.Bundle
	nowhere   string       // why the package has no candidates at all, or ""
	steps     []graph.Step // the candidates, the preferred one first
	result    *V1Catalog
}

// offer finds the candidates in the package of a catalog.
func (r *v1Resolver) offer(c *Catalog, p *graph.Package) *offer {
	o := &offer{Catalog: c, pkg: p, installed: r.installed}
	o.options = graph.V1Options{Version: r.version, SelfCertified: r.SelfCertified}
	for _, ch := range p.Channels {
		if slices.Contains(r.Channels, ch.Name) {
			o.options.Channels = append(o.options.Channels, ch)
		}
	}
	if len(r.Channels) > 0 && len(o.options.Channels) == 0 {
		o.nowhere = fmt.Sprintf("its package has none of the channels %s", r.Channels)
		return o
	}
	o.steps = p.Candidates(o.options, r.installed)
	return o
}

// deprecated reports whether the best candidate is deprecated.
func (o *offer) deprecated() bool { return o.steps[0].To.Deprecated }

// set fills in what an offer says about its catalog, apart from the other catalogs.
func (c *V1Catalog) set(o *offer) {
	c.offer = o
	switch {
	case o.nowhere != "":
		c.Why = o.nowhere
	case len(o.steps) == 0:
		c.Why = "none of its bundles can be installed"
	}
	for i, s := range o.steps {
		candidate := newCandidate(s.To)
		candidate.By = s.By
		if s.Channel != nil {
			candidate.Channel = s.Channel.Name
		}
		if i > 0 {
			candidate.Why = s.To.WhyAfter(o.steps[0].To)
		}
		c.Candidates = append(c.Candidates, candidate)
	}
}

func newCandidate(b *graph.Bundle) V1Candidate {
	c := V1Candidate{Bundle: b.Name, Deprecated: b.Deprecated}
	if b.Version != nil {
		c.Version = b.Version.String()
	}
	return c
}

// Others returns the bundles of the package that are not candidates, the highest version first, each with the reason.
func (c *V1Catalog) Others() []V1Candidate {
	o := c.offer
	if o == nil {
		return nil
	}
	var others []V1Candidate
	for _, b := range slices.Backward(o.pkg.Bundles) {
		if b.Virtual {
			continue
		}
		why := o.nowhere
		if why == "" {
			why = o.pkg.WhyNot(o.options, o.installed, b)
		}
		if why != "" {
			other := newCandidate(b)
			other.Why = why
			others = append(others, other)
		}
	}
	return others
}

// choice returns the best candidate of an offer.
func (o *offer) choice() *V1Choice {
	s := o.steps[0]
	choice := &V1Choice{
		Catalog: o.Name, Package: o.pkg.Name, Bundle: s.To.Name, Version: s.To.Version.String(),
		By: s.By, Deprecated: s.To.Deprecated, version: s.To.Version,
	}
	channels := o.options.Channels
	if len(channels) == 0 {
		channels = o.pkg.Channels
	}
	for _, c := range channels {
		if _, ok := c.Entry(s.To.Name); ok {
			choice.Channels = append(choice.Channels, c.Name)
		}
	}
	choice.Image = o.bundle(o.pkg.Name, s.To.Name).Value.Image
	return choice
}
