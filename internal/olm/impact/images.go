package impact

import (
	"context"
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// images adds the images that are new, with their sizes.
func (c *comparison) images(ctx context.Context, before []declcfg.Source) error {
	known := map[string]bool{}
	keep := func(_ *declcfg.Meta, refs []string) {
		for _, ref := range refs {
			known[ref] = true
		}
	}
	if err := declcfg.Collect(ctx, imagesOf, keep, before...); err != nil {
		return err
	}
	for _, n := range c.news {
		o, err := n.meta.Read()
		if err != nil {
			return err
		}
		refs, err := imagesOf(o)
		if err != nil {
			return err
		}
		slices.Sort(refs)
		refs = slices.DeleteFunc(slices.Compact(refs), func(ref string) bool { return known[ref] })
		size := func(ref string) Image { return c.sized(ctx, ref) }
		for i := range parallel.Map(ctx, sizeJobs, slices.Values(refs), size) {
			n.Images = append(n.Images, i)
		}
	}
	return ctx.Err()
}

// sizeJobs is the maximum number of concurrent requests for the sizes of images.
const sizeJobs = 8

func (c *comparison) sized(ctx context.Context, ref string) Image {
	if c.opts.Size == nil {
		return Image{Reference: ref}
	}
	n, err := c.opts.Size(ctx, ref)
	if err != nil {
		return Image{Reference: ref, Error: reason(err)}
	}
	return Image{Reference: ref, Size: n}
}

// reason returns the text of an error about an image, without the outer text that names the image.
func reason(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// imagesOf returns the image and the related images of a bundle, or nil for another object.
func imagesOf(o *declcfg.Object) ([]string, error) {
	v, err := o.Decode()
	b, ok := v.(*declcfg.Bundle)
	if err != nil || !ok {
		return nil, err
	}
	return b.Images(), nil
}
