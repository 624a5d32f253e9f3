package resolve

import (
	"context"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Catalog is a catalog as a cluster sees it: a CatalogSource of OLM Classic, or a ClusterCatalog of OLM v1.
type Catalog struct {
	Name      string
	Namespace string            // of the CatalogSource
	Priority  int               // the higher, the more preferred
	Labels    map[string]string // of the ClusterCatalog, without the one for its name that all have
	Index     *declcfg.Index

	// Unavailable is the availabilityMode of the ClusterCatalog: OLM v1 ignores it.
	Unavailable bool

	// Failure is why the cluster cannot read the catalog, nil if it can. OLM Classic resolves nothing in a namespace that
	// sees such a catalog.
	Failure error

	properties   map[*declcfg.Meta][]Property
	deprecations map[*declcfg.Meta][]declcfg.Deprecation
	interned     map[string]declcfg.Property // by type and value, while objects are added
	once         sync.Once
	listing      *listing // see list
}

// A Property is a property of a bundle as a registry lists it, without manifests.
type Property struct {
	declcfg.Property
	Index int // among all properties of the bundle
}

// ReadCatalog reads the objects of the sources into a catalog. It does not validate them. The error joins all that
// keeps an object from being read, by place.
func ReadCatalog(ctx context.Context, sources ...declcfg.Source) (*Catalog, error) {
	var mu sync.Mutex
	c := &Catalog{}
	keep := func(m *declcfg.Meta, v any) error {
		mu.Lock()
		defer mu.Unlock()
		c.keep(m, v)
		return nil
	}
	index, err := declcfg.ReadIndexAndCheck(ctx, keep, sources...)
	c.Index, c.interned = index, nil
	return c, err
}

// Add adds an object to the catalog, before anything is asked of it. V is what [declcfg.Object.Decode] returned for m.
// It keeps v, but for the texts of properties.
func (c *Catalog) Add(m *declcfg.Meta, v any) {
	c.keep(m, v)
	if c.Index == nil {
		c.Index = &declcfg.Index{}
	}
	c.Index.Add(m, declcfg.Slim(v))
}

// keep keeps what the index drops of an object.
func (c *Catalog) keep(m *declcfg.Meta, v any) {
	if c.properties == nil {
		c.properties, c.deprecations = map[*declcfg.Meta][]Property{}, map[*declcfg.Meta][]declcfg.Deprecation{}
		c.interned = map[string]declcfg.Property{}
	}
	switch v := v.(type) {
	case *declcfg.Deprecations:
		c.deprecations[m] = slices.Clone(v.Entries) // the index drops their messages
	case *declcfg.Bundle:
		var kept []Property
		for i := range v.Properties {
			if p := &v.Properties[i]; !slices.Contains(bulk, p.Type) {
				kept = append(kept, Property{c.intern(p), i})
			}
		}
		c.properties[m] = slices.Clip(kept)
	}
}

// intern returns a copy of a property, which all bundles with an equal one share.
func (c *Catalog) intern(p *declcfg.Property) declcfg.Property {
	key := propertyKey(p)
	kept, ok := c.interned[key]
	if !ok {
		kept = declcfg.Property{Type: key[:len(p.Type)], Value: jsontext.Value(key[len(p.Type)+1:])}
		c.interned[key] = kept
	}
	return kept
}

// bulk lists the types of properties that registries do not list.
var bulk = []string{declcfg.PropertyBundleObject, declcfg.PropertyCSVMetadata}

// As returns a catalog of another name with the same contents.
func (c *Catalog) As(namespace, name string) *Catalog {
	return &Catalog{
		Namespace: namespace, Name: name, Index: c.Index, properties: c.properties, deprecations: c.deprecations,
	}
}

// Properties returns the properties of a bundle of the catalog, in order.
func (c *Catalog) Properties(bundle *declcfg.Meta) []Property { return c.properties[bundle] }

// Deprecations returns what is deprecated in a package of the catalog. Like OLM, it reads the first olm.deprecations
// only.
func (c *Catalog) Deprecations(pkg string) []declcfg.Deprecation {
	x := c.Index.Package(pkg)
	if x == nil || len(x.Deprecations) == 0 {
		return nil
	}
	return c.deprecations[x.Deprecations[0].Meta]
}
