package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
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

// existing returns the catalog of the installed operators, as OLM makes it.
func (ns *Namespace) existing() *Catalog {
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

// existingEntry returns the entry of an installed operator, and nil for one that OLM ignores since what replaced it has
// failed.
func (ns *Namespace) existingEntry(c *Catalog, in *Installed) (*entry, error) {
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

// properties returns those of the annotation, or infers them from the APIs and the Subscriptions.
func (ns *Namespace) properties(in *Installed) ([]Property, error) {
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
		p, _ := declcfg.NewProperty(typ, v) // values of strings can be encoded
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

// gvks returns the kinds of APIs, each once, in a fixed order.
func gvks(crds []declcfg.CRDDescription, services []declcfg.APIServiceDescription) ([]declcfg.GVK, error) {
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
func (ns *Namespace) packageOf(in *Installed) (pkg string, ok bool) {
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

// The phases of a ClusterServiceVersion that matter here.
const (
	phaseReplacing = "Replacing"
	phaseFailed    = "Failed"
)

// replacedByFailed reports whether the operators that replaced this one, one after the other, end at a failed one.
func (ns *Namespace) replacedByFailed(in *Installed) (bool, error) {
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
