package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A V1Catalog is the result for one catalog of a [V1Request].
type V1Catalog struct {
	Name     string `json:"name"`
	Priority int    `json:"priority"`

	// Why is the reason why no bundle of the catalog is chosen: a sentence without a full stop that calls the catalog
	// "it". It is "" for the chosen catalog, and for catalogs that OLM did not reach because of an error.
	Why string `json:"why,omitzero"`

	// Candidates are sorted by preference. The first candidate of the chosen catalog is chosen.
	Candidates []V1Candidate `json:"candidates,omitzero"`

	found *catalogCandidates // nil if OLM did not read the package
}

// A V1Candidate is a bundle of the package.
type V1Candidate struct {
	Bundle     string     `json:"bundle"`
	Version    string     `json:"version,omitzero"`
	Deprecated bool       `json:"deprecated,omitzero"`
	By         graph.Edge `json:"by,omitzero"`      // as in [V1Choice]
	Channel    string     `json:"channel,omitzero"` // the channel with the edge

	// Why is the reason why it is not the first candidate, or no candidate: a sentence without a full stop that calls
	// the bundle "it". It is "" for the first candidate.
	Why string `json:"why,omitzero"`
}

// catalogCandidates are the candidates in one catalog.
type catalogCandidates struct {
	*Catalog
	pkg       *graph.Package
	options   graph.V1Options
	installed *graph.Bundle
	why       string       // the reason if the package has no candidates at all, or ""
	steps     []graph.Step // the candidates, sorted by preference
	result    *V1Catalog
}

// findCandidates finds the candidates in the package of a catalog.
func (r *v1Resolver) findCandidates(c *Catalog, p *graph.Package) *catalogCandidates {
	o := &catalogCandidates{Catalog: c, pkg: p, installed: r.installed}
	o.options = graph.V1Options{Version: r.version, SelfCertified: r.SelfCertified, Releases: r.Releases}
	for _, ch := range p.Channels {
		if slices.Contains(r.Channels, ch.Name) {
			o.options.Channels = append(o.options.Channels, ch)
		}
	}
	if len(r.Channels) > 0 && len(o.options.Channels) == 0 {
		o.why = fmt.Sprintf("its package has none of the channels %s", r.Channels)
		return o
	}
	o.steps = p.Candidates(o.options, r.installed)
	return o
}

// deprecated reports whether the best candidate is deprecated.
func (c *catalogCandidates) deprecated() bool { return c.steps[0].To.Deprecated }

// setCandidates sets the result for one catalog, before it is compared with other catalogs.
func (c *V1Catalog) setCandidates(o *catalogCandidates) {
	c.found = o
	switch {
	case o.why != "":
		c.Why = o.why
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
			candidate.Why = o.options.WhyAfter(s.To, o.steps[0].To)
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

// Others returns the non-candidates of the package with their reasons, the highest version first.
func (c *V1Catalog) Others() []V1Candidate {
	o := c.found
	if o == nil {
		return nil
	}
	var others []V1Candidate
	for _, b := range slices.Backward(o.pkg.Bundles) {
		if b.Virtual {
			continue
		}
		why := o.why
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

// choice returns the best candidate.
func (c *catalogCandidates) choice() *V1Choice {
	s := c.steps[0]
	choice := &V1Choice{
		Catalog: c.Name, Package: c.pkg.Name, Bundle: s.To.Name, Version: s.To.Version.String(),
		By: s.By, Deprecated: s.To.Deprecated, version: s.To.Version,
	}
	channels := c.options.Channels
	if len(channels) == 0 {
		channels = c.pkg.Channels
	}
	for _, c := range channels {
		if _, ok := c.Entry(s.To.Name); ok {
			choice.Channels = append(choice.Channels, c.Name)
		}
	}
	choice.Image = c.bundle(c.pkg.Name, s.To.Name).Value.Image
	return choice
}

// A Condition is a condition in the status of an object in a cluster.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// setConditions sets the conditions of the ClusterExtension. If OLM resolves it, they are the conditions after the
// bundle is rolled out. There are none if the API server rejects the status.
func (r *v1Resolver) setConditions(best *catalogCandidates, err error) {
	if _, refused := errors.AsType[*statusError](err); refused {
		r.answer.Conditions = []Condition{}
		return
	}
	progressing := Condition{"Progressing", metav1.ConditionTrue, "Succeeded", "Desired state reached"}
	if r.answer.Outcome == Failed {
		progressing.Reason, progressing.Message = "Retrying", err.Error()
	}
	failed, isResolved := errors.AsType[*applyError](err)
	if isResolved && failed.terminal {
		progressing.Status, progressing.Reason = metav1.ConditionFalse, "InvalidConfiguration"
	}
	r.answer.Conditions = append(r.answer.Conditions, r.installedCondition(), progressing)
	if err != nil && !isResolved {
		r.answer.Conditions = append(r.answer.Conditions, r.unknownDeprecations()...)
		return
	}
	r.answer.Conditions = append(r.answer.Conditions, r.deprecations(best)...)
}

func (r *v1Resolver) installedCondition() Condition {
	var bundle string
	switch {
	case r.answer.Choice != nil:
		bundle = cmp.Or(r.answer.Choice.Image, r.answer.Choice.Bundle)
	case r.Installed != nil:
		bundle = cmp.Or(r.Installed.Image, r.Installed.Name)
	default:
		return Condition{"Installed", metav1.ConditionFalse, "Failed", "No bundle installed"}
	}
	message := fmt.Sprintf("Installed bundle %s successfully", bundle)
	return Condition{"Installed", metav1.ConditionTrue, "Succeeded", message}
}

var noBundleYet = Condition{"BundleDeprecated", metav1.ConditionUnknown, "Absent", "no bundle installed yet"}

// unknownDeprecations returns the deprecation conditions if no catalog is chosen.
func (r *v1Resolver) unknownDeprecations() []Condition {
	const message = "deprecation status unknown: catalog data unavailable"
	unknown := func(of string) Condition {
		return Condition{of, metav1.ConditionUnknown, "DeprecationStatusUnknown", message}
	}
	bundle := unknown("BundleDeprecated")
	if r.Installed == nil {
		bundle = noBundleYet
	}
	return []Condition{unknown("Deprecated"), unknown("PackageDeprecated"), unknown("ChannelDeprecated"), bundle}
}

// deprecations returns the deprecation conditions for a chosen catalog. If the ClusterExtension has no channels, the
// deprecations of all channels of the package count.
func (r *v1Resolver) deprecations(best *catalogCandidates) []Condition {
	var installed string
	switch {
	case r.answer.Choice != nil:
		installed = r.answer.Choice.Bundle
	case r.Installed != nil:
		installed = r.Installed.Name
	}
	var pkg, channels, bundle []string
	for _, d := range best.Deprecations(r.Package) {
		switch name := d.Reference.Name; {
		case d.Message == "":
		case d.Reference.Schema == declcfg.SchemaPackage:
			pkg = append(pkg, d.Message)
		case d.Reference.Schema == declcfg.SchemaChannel && (len(r.Channels) == 0 || slices.Contains(r.Channels, name)):
			channels = append(channels, d.Message)
		case d.Reference.Schema == declcfg.SchemaBundle && name == installed:
			bundle = append(bundle, d.Message)
		}
	}
	conditions := []Condition{
		deprecated("Deprecated", "not deprecated", pkg, channels, bundle),
		deprecated("PackageDeprecated", "package not deprecated", pkg),
		deprecated("ChannelDeprecated", "channel not deprecated", channels),
		deprecated("BundleDeprecated", "bundle not deprecated", bundle),
	}
	if installed == "" {
		conditions[3] = noBundleYet
	}
	return conditions
}

// deprecated returns a condition that is true if there are messages.
func deprecated(of, not string, messages ...[]string) Condition {
	all := slices.Concat(messages...)
	if len(all) == 0 {
		return Condition{of, metav1.ConditionFalse, "NotDeprecated", not}
	}
	return Condition{of, metav1.ConditionTrue, "Deprecated", strings.Join(all, "\n")}
}
