// Package render turns references into the objects that they hold: a directory or a file of a catalog, an archive of
// one, standard input, or the directory of a bundle.
//
//	catalog, err := render.Open(ctx, []string{"catalog", "more.tar.gz"}, render.Options{})
//	defer catalog.Close()
//	metas, err := catalog.Metas(ctx, render.MigrateAll)
//	err = declcfg.Write(ctx, os.Stdout, metas, declcfg.WriteOptions{Edit: render.MigrateAll.Edit})
package render

import (
	"context"
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Catalog is what one or more references hold, in their order. It stays open, since objects are read again when they
// are written.
type Catalog struct {
	Sources []declcfg.Source

	closers []func() error
}

// Open opens the references, several at once, in their order. The error joins those of all that cannot be opened;
// nothing stays open then.
func Open(ctx context.Context, refs []string, opts Options) (*Catalog, error) {
	c := &Catalog{}
	var errs []error
	open := func(ref string) *opened {
		o := &opened{}
		o.err = o.open(ctx, ref, opts)
		return o
	}
	for o := range parallel.Map(ctx, opts.Jobs, slices.Values(refs), open) {
		c.Sources = append(c.Sources, o.sources...)
		c.closers = append(c.closers, o.closers...)
		errs = append(errs, o.err)
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close lets go of files and memory.
func (c *Catalog) Close() error {
	var errs []error
	for _, closer := range slices.Backward(c.closers) { // an archive is closed before what it is read from
		errs = append(errs, closer())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// Metas reads every object and returns them in the order of [declcfg.Sort], without their text. It fails, with every
// error it finds, where an object cannot be read, is no object of its schema, belongs to no package although its schema
// says so, or cannot be migrated to level. As upstream, it does not validate.
func (c *Catalog) Metas(ctx context.Context, level Migration) ([]*declcfg.Meta, error) {
	var metas []*declcfg.Meta
	var errs []error
	check := func(m *declcfg.Meta) (*declcfg.Meta, error) { return m, level.check(m) }
	for m, err := range declcfg.Map(ctx, check, c.Sources...) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		metas = append(metas, m)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if errs = append(errs, declcfg.CheckOwners(metas)...); len(errs) > 0 {
		slices.SortStableFunc(errs, declcfg.CompareErrors)
		return nil, errors.Join(errs...)
	}
	declcfg.Sort(metas)
	return metas, nil
}
