package web

import (
	"context"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// dependenciesView has the dependencies of a bundle on the catalog.
type dependenciesView struct {
	All   []*resolve.Dependency `json:"all"`             // in the order of the properties
	Error string                `json:"error,omitempty"` // the reason that OLM cannot read them
}

// dependencies finds the bundles that satisfy the dependencies of a bundle. It returns errors that are not about them.
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
	err error // the first of the store
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
