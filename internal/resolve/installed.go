package resolve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/updates"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// AnnotatedProperties reads the annotation operatorframework.io/properties of a ClusterServiceVersion.
func AnnotatedProperties(annotation string) ([]Property, error) {
	var a struct {
		Properties []struct {
			Type  string         `json:"type"`
			Value jsontext.Value `json:"value"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(annotation), &a); err != nil {
		return nil, err
	}
	properties := []Property{}
	for i, p := range a.Properties {
		properties = append(properties, Property{declcfg.Property{Type: p.Type, Value: p.Value, Ordered: true}, i})
	}
	return properties, nil
}

// existing returns the catalog of the installed operators, built as in OLM.
func (ns *ClassicRequest) existing() *Catalog {
	c := &Catalog{Name: "@existing", Namespace: ns.Name}
	l := &listing{}
	for i := range ns.Installed {
		in := &ns.Installed[i]
		e, err := ns.existingEntry(c, in)
		if err != nil {
			c.Failure = &brokenError{err, "@existing/" + ns.Name + "//" + in.Name, place{pos: in.Pos}}
			l = &listing{}
			break
		}
		if e != nil {
			l.channels = append(l.channels, e.channel)
		}
	}
	slices.SortFunc(l.channels, func(a, b *channel) int {
		return cmp.Compare(a.entries[0].edges.Name, b.entries[0].edges.Name)
	})
	c.once.Do(func() { c.listing = l.index() })
	return c
}

// existingEntry returns the entry of an installed operator, or nil if OLM ignores it because its replacement has
// failed.
func (ns *ClassicRequest) existingEntry(c *Catalog, in *Installed) (*entry, error) {
	if ns.FailForward {
		failed, err := ns.replacedByFailed(in)
		if err != nil || failed && in.Phase == phaseReplacing {
			return nil, err
		}
	}
	properties, err := ns.properties(in)
	if err != nil {
		return nil, err
	}
	b := &bundle{name: in.Name, version: &in.Version, properties: properties, installed: in}
	b.deprecated = slices.ContainsFunc(properties, func(p Property) bool { return p.Type == declcfg.PropertyDeprecated })
	factReader{}.read(b)
	ch := &channel{catalog: c}
	for _, p := range b.packages {
		ch.pkg = p.name
	}
	e := &entry{bundle: b, channel: ch, edges: declcfg.Entry{Name: in.Name}}
	ch.entries = []*entry{e}
	ch.order = func() ([]*entry, error) { return ch.entries, nil }
	return e, nil
}

// properties returns the properties in the annotation, or infers them from the APIs and the Subscriptions.
func (ns *ClassicRequest) properties(in *Installed) ([]Property, error) {
	if in.PropertiesError != nil {
		return nil, fmt.Errorf("failed to retrieve properties of csv %q: failed to unmarshal properties annotation: %w",
			in.Name, in.PropertiesError)
	}
	if in.Properties != nil {
		return in.Properties, nil
	}
	owned, err := gvks(in.CustomResources.Owned, in.APIServices.Owned)
	if err != nil {
		return nil, err
	}
	required, err := gvks(in.CustomResources.Required, in.APIServices.Required)
	if err != nil {
		return nil, err
	}
	var properties []Property
	add := func(typ string, v any) {
		p, _ := declcfg.NewProperty(typ, v) // values made of strings can always be encoded
		properties = append(properties, Property{p, len(properties)})
	}
	for _, gvk := range owned {
		add(declcfg.PropertyGVK, gvk)
	}
	for _, gvk := range required {
		add(declcfg.PropertyGVKRequired, gvk)
	}
	if pkg, ok := ns.packageOf(in); ok {
		p := declcfg.PackageProperty{PackageName: pkg}
		if !in.Version.Equals(semver.Version{}) {
			p.Version = in.Version.String()
		}
		add(declcfg.PropertyPackage, p)
	}
	return properties, nil
}

// gvks returns the API kinds, without duplicates, in a fixed order.
func gvks(crds []v1alpha1.CRDDescription, services []v1alpha1.APIServiceDescription) ([]declcfg.GVK, error) {
	set := map[declcfg.GVK]bool{}
	for _, d := range crds {
		_, group, ok := strings.Cut(d.Name, ".")
		if !ok {
			return nil, fmt.Errorf("error parsing crd name: %s", d.Name)
		}
		set[declcfg.GVK{Group: group, Version: d.Version, Kind: d.Kind}] = true
	}
	for _, d := range services {
		set[declcfg.GVK{Group: d.Group, Version: d.Version, Kind: d.Kind}] = true
	}
	return sortedGVKs(set), nil
}

func sortedGVKs[V any](m map[declcfg.GVK]V) []declcfg.GVK {
	return slices.SortedFunc(maps.Keys(m), func(a, b declcfg.GVK) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
}

// packageOf returns the package of an installed operator if its Subscriptions agree on one.
func (ns *ClassicRequest) packageOf(in *Installed) (pkg string, ok bool) {
	for _, s := range ns.Subscriptions {
		if s.InstalledCSV != in.Name || s.Package == "" || s.Package == pkg {
			continue
		}
		if ok {
			return "", false
		}
		pkg, ok = s.Package, true
	}
	return pkg, ok
}

// The phases of a ClusterServiceVersion that affect resolution.
const (
	phaseReplacing = "Replacing"
	phaseFailed    = "Failed"
)

// replacedByFailed reports whether the chain of replacements of this operator ends at a failed one.
func (ns *ClassicRequest) replacedByFailed(in *Installed) (bool, error) {
	replacement := map[string]*Installed{}
	for i := range ns.Installed {
		if r := ns.Installed[i].Replaces; r != "" {
			replacement[r] = &ns.Installed[i]
		}
	}
	seen := map[string]bool{}
	for next := replacement[in.Name]; next != nil; next = replacement[in.Name] {
		if in.Phase != phaseReplacing {
			return false, fmt.Errorf("csv %s/%s in phase %s instead of Replacing", ns.Name, in.Name, in.Phase)
		}
		if seen[in.Name] {
			return false, fmt.Errorf("csv %s/%s has already been seen", ns.Name, in.Name)
		}
		seen[in.Name] = true
		in = next
	}
	return in.Phase == phaseFailed, nil
}

// Operator returns the installed operator for a bundle of the catalog: with its version, and with the properties that
// OLM writes into the annotation of its ClusterServiceVersion. It returns false if the catalog does not have the
// bundle.
func (c *Catalog) Operator(pkg, name string) (Installed, bool) {
	b := c.bundle(pkg, name)
	if b == nil {
		return Installed{}, false
	}
	in := Installed{Name: name, Properties: append([]Property{}, c.Properties(b.Meta)...)}
	if b.Value.Version != nil {
		in.Version = b.Value.Version.Semver
	}
	return in, true
}

// InstalledBundle returns the installed bundle of a ClusterExtension for a bundle of the catalog, or nil if the catalog
// does not have it.
func (c *Catalog) InstalledBundle(pkg, name string, releases bool) *InstalledBundle {
	b := c.bundle(pkg, name)
	if b == nil {
		return nil
	}
	return newInstalledBundle(name, b.Value.Image, b.Value.Version, releases)
}

// newInstalledBundle returns the status of a ClusterExtension with a bundle. With releases, a release is in a field of
// its own, otherwise it is build metadata of the version.
func newInstalledBundle(name, image string, v *declcfg.Version, releases bool) *InstalledBundle {
	in := &InstalledBundle{Name: name, Image: image}
	switch {
	case v == nil:
	case releases:
		read := graph.V1Options{Releases: true}.VersionOf(*v)
		if in.Release = read.Release.String(); len(v.Release) > 0 || in.Release == "" {
			read.Semver.Build = v.Semver.Build
		}
		in.Version = read.Semver.String()
	default:
		in.Version = v.Semver.String()
	}
	return in
}

func (c *Catalog) bundle(pkg, name string) *declcfg.Indexed[declcfg.BundleSummary] {
	p := c.Index.Package(pkg)
	if p == nil {
		return nil
	}
	for i := range p.Bundles {
		if b := &p.Bundles[i]; b.Value != nil && b.Value.Name == name {
			return b
		}
	}
	return nil
}

// Next returns the namespace after everything in the answer is installed.
func (ns *ClassicRequest) Next(answer *ClassicResult) *ClassicRequest {
	next := *ns
	installed := map[string]Installed{}
	for _, in := range ns.Installed {
		installed[in.Name] = in
	}
	for _, c := range answer.Install {
		delete(installed, c.Replaces)
	}
	for _, c := range answer.Install {
		for _, catalog := range ns.Catalogs {
			if catalog.Name == c.Catalog && catalog.Namespace == c.CatalogNamespace {
				installed[c.Bundle], _ = catalog.Operator(c.Package, c.Bundle)
			}
		}
	}
	next.Installed = nil
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		next.Installed = append(next.Installed, installed[name])
	}
	next.Subscriptions = append(slices.Clone(ns.Subscriptions), answer.Generated...)
	for i := range next.Subscriptions {
		s := &next.Subscriptions[i]
		for _, c := range answer.Install {
			if s.follows(c) {
				s.InstalledCSV, s.CurrentCSV = c.Bundle, c.Bundle
			}
		}
	}
	return &next
}

// Path returns successive answers, each about the namespace after the previous one, until an answer installs nothing.
// That last answer is only returned if it is the first one or an error. If loop is true, the last answer leads back to
// an earlier state of the namespace, as skipRanges can. Only the first answer is explained.
func (ns *ClassicRequest) Path(ctx context.Context, opts Options) (answers []*ClassicResult, loop bool, err error) {
	var trail updates.Trail
	for trail.Loop(ns.state()) == nil {
		trail.Add(ns.state())
		answer, err := ns.Resolve(ctx, opts)
		if err != nil {
			return nil, false, err
		}
		if len(answers) > 0 && answer.Outcome == Resolved && len(answer.Install) == 0 {
			return answers, false, nil
		}
		answers = append(answers, answer)
		if len(answer.Install) == 0 {
			return answers, false, nil
		}
		opts.Explain = false
		ns = ns.Next(answer)
	}
	return answers, true, nil
}

// state returns the names of the installed operators.
func (ns *ClassicRequest) state() string {
	var names []string
	for _, in := range ns.Installed {
		names = append(names, in.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// Changes reports whether OLM v1 installs a bundle other than the installed one.
func (e *V1Request) Changes(answer *V1Result) bool {
	return answer.Choice != nil && (e.Installed == nil || e.Installed.Name != answer.Choice.Bundle)
}

// Next returns the ClusterExtension after the choice of the answer is installed.
func (e *V1Request) Next(answer *V1Result) *V1Request {
	next := *e
	c := answer.Choice
	next.Installed = newInstalledBundle(c.Bundle, c.Image, c.version, e.Releases)
	return &next
}

// Path is [ClassicRequest.Path] for OLM v1.
func (e *V1Request) Path(catalogs []*Catalog) (answers []*V1Result, loop bool) {
	var trail updates.Trail
	for e.Installed == nil || trail.Loop(e.Installed.Name) == nil {
		if e.Installed != nil {
			trail.Add(e.Installed.Name)
		}
		answer := e.Resolve(catalogs)
		changes := e.Changes(answer)
		if len(answers) > 0 && !changes && answer.Outcome != Failed {
			return answers, false
		}
		answers = append(answers, answer)
		if !changes {
			return answers, false
		}
		e = e.Next(answer)
	}
	return answers, true
}
