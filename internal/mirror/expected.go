package mirror

import (
	"context"
	"fmt"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// An Open opens a catalog in a mirror, for a platform; which one is its choice with "". closeAll is called when the
// sources were read.
type Open func(ref, platform string) (sources []declcfg.Source, closeAll func(), err error)

// Expected returns the images that a mirror of all of s must have, for [Verify]: the catalogs as they are in the
// mirror, the images that these name, and the additional images. Only the mirror is asked for them. A catalog that
// cannot be read is a failed image.
func (s *Sources) Expected(ctx context.Context, to *Registry, open Open) ([]*Image, error) {
	catalogs, err := s.Catalogs(nil)
	if err != nil {
		return nil, err
	}
	images, err := s.AdditionalImages()
	if err != nil {
		return nil, err
	}
	for _, c := range catalogs {
		built := &Image{Source: c.Ref, Repository: c.repository, Tag: c.tag, Catalog: true}
		named, err := s.named(ctx, c, to.String()+"/"+built.Target(), open)
		switch {
		case err == nil:
			images = append(append(images, built), named...)
		case ctx.Err() != nil:
			return nil, err
		default:
			images = append(images, FailedImage(c.Ref, err))
		}
	}
	for _, img := range images {
		if img.Failure == "" {
			if err := img.lookUpIn(to); err != nil {
				return nil, err
			}
		}
	}
	return images, nil
}

// named returns the images that a catalog names, and that the config does not block. ref is the catalog in the mirror.
func (s *Sources) named(ctx context.Context, c *Catalog, ref string, open Open) (images []*Image, err error) {
	var platform string
	if all := s.PlatformsOf(c); len(all) > 0 {
		platform = all[0]
	}
	sources, closeAll, err := open(ref, platform)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	index, err := declcfg.ReadIndex(ctx, sources...)
	if err != nil {
		return nil, err
	}
	var bundles filter.Result
	for _, x := range index.Packages() {
		for _, b := range x.Bundles {
			bundles.Metas = append(bundles.Metas, b.Meta)
		}
	}
	err = bundles.EachImage(ctx, func(ref string, by *declcfg.Bundle) {
		if img := s.imageOf(c, ref, Use{Package: by.Package, Bundle: by.Name}); img != nil {
			images = append(images, img)
		}
	})
	return images, err
}

// lookUpIn makes the image one that [Verify] looks up in the target itself.
func (i *Image) lookUpIn(to *Registry) error {
	full := to.base + "/" + i.Target()
	ref, err := image.ParseReference(full)
	if err != nil {
		return fmt.Errorf("image %q: %w", full, err)
	}
	i.repo, err = to.repository(i.Repository)
	i.inTarget = ref
	return err
}
