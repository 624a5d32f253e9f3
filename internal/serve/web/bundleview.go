package web

import (
	"context"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// bundleView is the response to /ui/v1/bundle.
type bundleView struct {
	Catalog       string         `json:"catalog"`
	Package       string         `json:"package"`
	Name          string         `json:"name"`
	Version       string         `json:"version,omitempty"`
	Image         string         `json:"image,omitempty"`
	Entries       []entryView    `json:"entries"`       // by channel, as graph.CompareChannels orders them
	Properties    []propertyView `json:"properties"`    // in the order of the catalog
	RelatedImages []imageView    `json:"relatedImages"` // in the order of the catalog
	CSV           csvView        `json:"csv"`

	Dependencies dependenciesView `json:"dependencies"`
}

type entryView struct {
	Channel   string   `json:"channel"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// A propertyView is a property. Manifests and the metadata of the ClusterServiceVersion are shown by their size only.
type propertyView struct {
	Type  string         `json:"type"`
	Value jsontext.Value `json:"value,omitzero"`
	Bytes int            `json:"bytes"`
}

type imageView struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image"`
}

// csvView has the fields of a ClusterServiceVersion that people read.
type csvView struct {
	DisplayName    string               `json:"displayName,omitempty"`
	Description    string               `json:"description,omitempty"` // Markdown
	Provider       string               `json:"provider,omitempty"`
	Maturity       string               `json:"maturity,omitempty"`
	MinKubeVersion string               `json:"minKubeVersion,omitempty"`
	Categories     string               `json:"categories,omitempty"`
	Capabilities   string               `json:"capabilities,omitempty"`
	Keywords       []string             `json:"keywords,omitempty"`
	InstallModes   []string             `json:"installModes,omitempty"` // the supported ones
	Links          []declcfg.AppLink    `json:"links,omitempty"`
	Maintainers    []declcfg.Maintainer `json:"maintainers,omitempty"`
	Owned          []kindView           `json:"owned,omitempty"`    // kinds that the operator provides
	Required       []kindView           `json:"required,omitempty"` // kinds that it requires
}

// A kindView is a kind of object, from a custom resource definition or an aggregated API.
type kindView struct {
	Kind        string `json:"kind"`
	Version     string `json:"version"`
	Name        string `json:"name,omitempty"` // of the definition, or of the group
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
}

// bundleOf returns the view of a bundle, or nil if the catalog does not have it.
func bundleOf(ctx context.Context, c *Catalog, params url.Values) (*bundleView, error) {
	pkg, name := params.Get("package"), params.Get("name")
	b, err := c.bundle(pkg, name)
	if err != nil || b == nil {
		return nil, err
	}
	v := &bundleView{
		Catalog: c.Name, Package: pkg, Name: name, Image: b.Image, Entries: []entryView{},
		Properties:    make([]propertyView, 0, len(b.Properties)),
		RelatedImages: make([]imageView, 0, len(b.RelatedImages)), CSV: newCSVView(b.CSVMetadata()),
	}
	if version, err := b.Version(); err == nil {
		v.Version = version.String()
	}
	for _, p := range b.Properties {
		property := propertyView{Type: p.Type, Bytes: len(p.Value)}
		if p.Type != declcfg.PropertyCSVMetadata && p.Type != declcfg.PropertyBundleObject {
			property.Value = p.Value
		}
		v.Properties = append(v.Properties, property)
	}
	for _, i := range b.RelatedImages {
		v.RelatedImages = append(v.RelatedImages, imageView{i.Name, i.Image})
	}
	if v.Dependencies, err = c.dependencies(ctx, b); err != nil {
		return nil, err
	}
	return v, c.addEntries(v)
}

func (c *Catalog) addEntries(v *bundleView) error {
	for o, err := range c.decoded(store.Query{Schema: declcfg.SchemaChannel, Package: v.Package}) {
		if err != nil {
			return err
		}
		ch, ok := o.value.(*declcfg.Channel)
		if !ok {
			continue
		}
		for _, e := range ch.Entries {
			if e.Name == v.Name {
				v.Entries = append(v.Entries, entryView{ch.Name, e.Replaces, e.Skips, e.SkipRange})
			}
		}
	}
	slices.SortStableFunc(v.Entries, func(a, b entryView) int { return graph.CompareChannels(a.Channel, b.Channel) })
	return nil
}

func newCSVView(csv *declcfg.CSVMetadata) csvView {
	v := csvView{
		DisplayName: csv.DisplayName, Description: csv.Description, Provider: csv.Provider.Name, Maturity: csv.Maturity,
		MinKubeVersion: csv.MinKubeVersion, Categories: csv.Annotations["categories"],
		Capabilities: csv.Annotations["capabilities"], Keywords: csv.Keywords, Links: csv.Links,
		Maintainers: csv.Maintainers,
		Owned:       kinds(csv.CRDDescriptions.Owned, csv.APIServiceDefinitions.Owned),
		Required:    kinds(csv.CRDDescriptions.Required, csv.APIServiceDefinitions.Required),
	}
	for _, m := range csv.InstallModes {
		if m.Supported {
			v.InstallModes = append(v.InstallModes, m.Type)
		}
	}
	return v
}

func kinds(crds []declcfg.CRDDescription, apis []declcfg.APIServiceDescription) []kindView {
	var all []kindView
	for _, d := range crds {
		all = append(all, kindView{d.Kind, d.Version, d.Name, d.DisplayName, d.Description})
	}
	for _, d := range apis {
		all = append(all, kindView{d.Kind, d.Version, d.Group, d.DisplayName, d.Description})
	}
	return all
}

// dependenciesView has the dependencies of a bundle, with the bundles of the catalog that satisfy them.
type dependenciesView struct {
	All   []*resolve.Dependency `json:"all"`             // in the order of the properties
	Error string                `json:"error,omitempty"` // why OLM cannot read them
}

// dependencies finds the bundles that satisfy the dependencies of b. Its error is about reading the catalog, or from
// ctx; an invalid dependency is the Error of the view.
func (c *Catalog) dependencies(ctx context.Context, b *declcfg.Bundle) (v dependenciesView, err error) {
	from := &packages{Catalog: c}
	v.All, err = resolve.ReadDependencies(ctx, b.Properties, from)
	if err != nil && from.err == nil && ctx.Err() == nil {
		return dependenciesView{Error: err.Error()}, nil
	}
	return v, err
}

type packages struct {
	*Catalog
	err error // the first error of the store
}

func (p *packages) Names() (names []string, err error) {
	for o, err := range p.decoded(store.Query{Schema: declcfg.SchemaPackage}) {
		if err != nil {
			p.err = err
			return nil, err
		}
		names = append(names, o.head.Name)
	}
	return names, nil
}

func (p *packages) Providing(api declcfg.GVK) ([]string, error) {
	if p.Catalog.Providing == nil {
		return p.Names()
	}
	return p.Catalog.Providing(api), nil
}

func (p *packages) Read(name string) (*resolve.Catalog, error) {
	c := &resolve.Catalog{}
	for o, err := range p.objectsOf(name) {
		if err != nil {
			p.err = err
			return nil, err
		}
		c.Add(o.head, o.value)
	}
	return c, nil
}
