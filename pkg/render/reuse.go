package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// reuse adds the bundle of an image that no longer exists from a catalog that was rendered before. It returns gone if
// there is no such catalog.
func (o *opened) reuse(ctx context.Context, locked Locked, gone error) error {
	switch {
	case locked.Rendered == nil:
		return gone
	case len(o.Options.Reuse) == 0:
		return fmt.Errorf("%w; the lock knows the bundle: --reuse takes it from a catalog that has it", gone)
	}
	o.locked = &locked
	byImage, err := o.reusable(ctx)
	if err != nil {
		return errors.Join(gone, err)
	}
	image := o.Changes.image(o.ref)
	for _, m := range byImage[image] {
		v, err := m.Decode()
		if err != nil {
			return errors.Join(gone, err)
		}
		b := v.(*declcfg.Bundle)
		if rendered, err := contentDigest(b); err == nil && slices.Contains(locked.Rendered, rendered) {
			o.reused = identity{b.Package, b.Name, b.Image}
			if err := o.holdBundle(b); err != nil {
				return err
			}
			return o.lockRendered(b, o.Changes.ofReused(), locked.Rendered)
		}
	}
	return fmt.Errorf("%w; the catalogs to reuse contain no bundle of image %s with digest %s",
		gone, image, strings.Join(locked.Rendered, " or "))
}

// bundlesByImage returns the bundles of the catalogs to reuse by image.
func bundlesByImage(ctx context.Context, sources []declcfg.Source) (map[string][]*declcfg.Meta, error) {
	type found struct {
		meta  *declcfg.Meta
		image string
	}
	find := func(o *declcfg.Object) (found, error) {
		if o.Schema != declcfg.SchemaBundle {
			return found{}, nil
		}
		v, err := o.Decode()
		if err != nil {
			return found{}, err
		}
		return found{o.Meta, v.(*declcfg.Bundle).Image}, nil
	}
	var errs []error
	byImage := map[string][]*declcfg.Meta{}
	for f, err := range declcfg.Map(ctx, find, sources...) {
		errs = append(errs, err)
		if f.image != "" {
			byImage[f.image] = append(byImage[f.image], f.meta)
		}
	}
	return byImage, errors.Join(errs...)
}
