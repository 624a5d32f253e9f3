package resolve

import (
	"context"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Dependencies finds what bundles of a catalog require in the same catalog. It is for one goroutine.
type Dependencies struct {
	catalog      *Catalog
	requirements requirementReader
	known        map[string]*Dependency // by type and value of a property
}

// A Dependency is what a property requires.
type Dependency struct {
	Requires  string          // what follows "requires an operator" in the sentences of OLM
	Providers []*declcfg.Meta // the bundles that satisfy it and may be installed, each once
}

// Dependencies returns the dependencies of the catalog.
func (c *Catalog) Dependencies() *Dependencies {
	return &Dependencies{c, newRequirementReader(), map[string]*Dependency{}}
}

// Of returns the dependencies of a bundle of the catalog. Properties that are equal give the same Dependency. The error
// is that of a property that OLM cannot read, or of ctx.
func (d *Dependencies) Of(ctx context.Context, bundle *declcfg.Meta) ([]*Dependency, error) {
	var all []*Dependency
	for _, p := range d.catalog.Properties(bundle) {
		required, err := d.requirements.read(&p.Property)
		if err != nil {
			return nil, &declcfg.Error{Pos: bundle.Pos, Err: err}
		}
		if required == nil {
			continue
		}
		key := propertyKey(&p.Property)
		if d.known[key] == nil {
			if d.known[key], err = d.dependency(ctx, required); err != nil {
				return nil, err
			}
		}
		all = append(all, d.known[key])
	}
	return all, nil
}

func (d *Dependencies) dependency(ctx context.Context, required requirement) (*Dependency, error) {
	entries, err := satisfying(ctx, required, required.among(d.catalog.list()))
	found := &Dependency{Requires: required.String()}
	seen := map[*bundle]bool{}
	for _, e := range entries {
		if !seen[e.bundle] && !e.deprecated {
			seen[e.bundle] = true
			found.Providers = append(found.Providers, e.bundle.meta)
		}
	}
	return found, err
}
