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
	var (
		mu    sync.Mutex
		known = map[string]declcfg.Property{} // properties repeat from bundle to bundle
		c     = &Catalog{
			properties:   map[*declcfg.Meta][]Property{},
			deprecations: map[*declcfg.Meta][]declcfg.Deprecation{},
		}
		intern = func(p *declcfg.Property) declcfg.Property {
			key := p.Type + "\x00" + string(p.Value)
			kept, ok := known[key]
			if !ok {
				kept = declcfg.Property{Type: key[:len(p.Type)], Value: jsontext.Value(key[len(p.Type)+1:])}
				known[key] = kept
			}
			return kept
		}
	)
	keep := func(m *declcfg.Meta, v any) error {
		mu.Lock()
		defer mu.Unlock()
		if d, ok := v.(*declcfg.Deprecations); ok {
			c.deprecations[m] = slices.Clone(d.Entries) // the index drops their messages
		}
		b, ok := v.(*declcfg.Bundle)
		if !ok {
			return nil
		}
		var kept []Property
		for i := range b.Properties {
			if p := &b.Properties[i]; !slices.Contains(bulk, p.Type) {
				kept = append(kept, Property{intern(p), i})
			}
		}
		c.properties[m] = slices.Clip(kept)
		return nil
	}
	index, err := declcfg.ReadIndexAndCheck(ctx, keep, sources...)
	c.Index = index
	return c, err
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
