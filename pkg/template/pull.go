package template

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// Bundles are the rendered bundles of a template. Several calls of Render may share them.
type Bundles struct {
	Lock render.Lock // see [render.Catalog]

	catalog *render.Catalog
	byImage map[string]*bundle // by image reference in the template
	changes render.Changes     // changes to make to the bundles
}

// A bundle is a rendered bundle of a template.
type bundle struct {
	*declcfg.BundleSummary
	meta         *declcfg.Meta
	property     declcfg.PackageProperty
	versionError error // the reason why Version is not set; nil if it is set
}

// Pull renders each image of the template once, concurrently. The error joins the errors of all bundles that cannot be
// rendered, each with the position of the image. Bundles are read with opts.Bundles; the caller must close the result.
func (t *Template) Pull(ctx context.Context, opts render.Options) (*Bundles, error) {
	failed := map[string][]error{} // errors by image
	opts.BundleImages = true
	opts.Skipped = func(image string, err error) { failed[image] = append(failed[image], problem.Flatten(err)...) }
	catalog, err := render.Open(ctx, t.Images(), opts)
	if err != nil {
		return nil, err
	}
	b := &Bundles{Lock: catalog.Lock, catalog: catalog, byImage: map[string]*bundle{}, changes: opts.Changes}
	if err := errors.Join(b.read(ctx, opts.Skipped), t.failures(ctx, failed)); err != nil {
		return nil, errors.Join(err, catalog.Close())
	}
	return b, nil
}

// read reads all bundles and tests the changes on them, so that no later step fails. It calls failed for each bundle
// that cannot be changed.
func (b *Bundles) read(ctx context.Context, failed func(image string, err error)) error {
	type result struct {
		bundle
		err error // of the changes
	}
	changes := b.changes.Form != "" || b.changes.Migration != ""
	read := func(o *declcfg.Object) (result, error) {
		v, err := o.Decode()
		if err != nil {
			return result{}, err
		}
		one := v.(*declcfg.Bundle) //nolint:forcetypeassert // a bundle image renders to a bundle only
		p, err := one.PackageProperty()
		if err == nil {
			_, err = one.Version()
		} else {
			p = &declcfg.PackageProperty{}
		}
		r := result{bundle: bundle{one.Summarize(), o.Meta, *p, err}}
		if changes {
			r.err = b.catalog.Edit(one)
		}
		return r, nil
	}
	keep := func(m *declcfg.Meta, r result) {
		image := m.Pos.File // each is its own source
		if r.err != nil {
			failed(image, r.err)
		}
		b.byImage[image] = &r.bundle
	}
	return declcfg.Collect(ctx, read, keep, b.catalog.Sources...)
}

// failures returns the errors of images with their positions, and the errors that Render would find without the images.
func (t *Template) failures(ctx context.Context, failed map[string][]error) error {
	if len(failed) == 0 {
		return nil
	}
	var errs []error
	if s, ok := t.spec.(*substitutes); ok {
		errs = s.invalid(ctx, t.file)
	}
	for _, r := range t.distinct() {
		for _, err := range failed[r.image] {
			if !strings.Contains(err.Error(), r.image) {
				err = fmt.Errorf("%s: %w", r.image, err)
			}
			errs = append(errs, t.file.Errorf(r.ptr, "%w", err))
		}
	}
	return place.JoinErrors(errs)
}

// Close releases the files and memory of the bundles.
func (b *Bundles) Close() error { return b.catalog.Close() }

func (b *Bundles) decode(image string) (*declcfg.Bundle, error) {
	v, err := b.byImage[image].meta.Decode()
	if err != nil {
		return nil, fmt.Errorf("read bundle %q again: %w", image, err)
	}
	return v.(*declcfg.Bundle), nil //nolint:forcetypeassert // read decoded the same object
}
