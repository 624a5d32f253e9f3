package filter

import (
	"context"
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// AddUnresolved adds a change for each package and each cause that prevents OLM Classic or OLM v1 from installing, or
// updating to, a kept bundle on a cluster with only the result as its catalog. It decodes the bundles again.
func (r *Result) AddUnresolved(ctx context.Context) error {
	c, err := r.catalog(ctx)
	if err != nil {
		return err
	}
	c = c.As("ns", "cat")
	check := resolve.Check{
		Classic: true, V1: true, Namespace: resolve.ClassicRequest{Name: c.Namespace, Catalogs: []*resolve.Catalog{c}},
	}
	checked, err := check.Run(ctx)
	if err != nil {
		return err
	}
	for _, p := range checked.Problems {
		if p.Severity == problem.Error {
			r.Changes = append(r.Changes, Change{Package: p.Package, Kind: Unresolved, Message: p.Message})
		}
	}
	return nil
}

// catalog returns the result as a catalog of a cluster.
func (r *Result) catalog(ctx context.Context) (*resolve.Catalog, error) {
	type read struct {
		meta  *declcfg.Meta
		value any
		err   error
	}
	decode := func(m *declcfg.Meta) read {
		v, err := m.Decode()
		if err == nil {
			r.Edit(v)
		}
		return read{m, v, err}
	}
	c := &resolve.Catalog{Index: &declcfg.Index{}}
	var errs []error
	for o := range parallel.Map(ctx, 0, slices.Values(r.Metas), decode) {
		if errs = append(errs, o.err); o.err == nil {
			c.Add(o.meta, o.value)
		}
	}
	return c, errors.Join(append(errs, ctx.Err())...)
}
