package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A FilteredCatalog is the kept part of a catalog.
type FilteredCatalog struct {
	*Catalog
	Kept      *filter.Result
	Digest    string                        // of an image in a registry; "" for another catalog
	Edit      func(*declcfg.Bundle) error   // changes bundles when they are written
	Unchanged func() error                  // returns an error if the catalog changed since it was read
	Opener    func() (*image.Opener, error) // opens the image of the catalog
}

// CatalogImages builds the image of a filtered catalog in dir, as [Image.Build] does, and returns it with the images
// that the catalog names.
func (s *Sources) CatalogImages(ctx context.Context, dir string, c *FilteredCatalog) ([]*Image, error) {
	built := &Image{
		Source: c.Ref, Repository: c.repository, Tag: c.tag, CatalogSource: c.template, Platforms: s.PlatformsOf(c.Catalog),
		Namespace: c.namespace,
	}
	images := []*Image{built}
	short, transport := map[string]bool{}, map[string]bool{}
	all := &filter.Result{Metas: c.Kept.Metas} // with the blocked images, whose references the catalog has, too
	err := all.EachImage(ctx, func(ref string, by *declcfg.Bundle) {
		plain := reference.WithoutTransport(ref)
		if plain != ref {
			transport[ref] = true
		}
		img := s.imageOf(c.Catalog, ref, Use{Package: by.Package, Bundle: by.Name})
		if img == nil {
			return
		}
		if full := image.OnDockerHub(plain); full != "" {
			short[fmt.Sprintf("%s as %s", plain, full)] = true
		}
		images = append(images, img)
	})
	if err != nil {
		return nil, err
	}
	if err := s.build(ctx, dir, built, c, len(transport) > 0); err != nil {
		return nil, fmt.Errorf("image of catalog %s: %w", c.Catalog, err)
	}
	if n := len(transport); n > 0 {
		s.Warn("catalog %s: the mirrored catalog has %s without docker://, which upstream's opm refuses", c.Catalog,
			plural.Words(n, "image", "images"))
	}
	if len(short) > 0 {
		s.Warn("catalog %s: %s no registry in the reference, and clusters may be configured to ask another one than "+
			"Docker Hub: taking %s", c.Catalog, plural.Words(len(short), "image has", "images have"),
			plural.Some(slices.Sorted(maps.Keys(short))))
	}
	return images, nil
}

// build makes built a copy of the catalog image if nothing of it changes, or else builds it in dir from the kept part.
// transport reports whether docker:// is removed from references in it.
func (s *Sources) build(ctx context.Context, dir string, built *Image, c *FilteredCatalog, transport bool) error {
	if !transport && s.Base == "" {
		digest, program, err := c.unfiltered(ctx)
		if err != nil {
			return err
		}
		if digest != "" {
			return built.Copy(digest, program)
		}
	}
	platforms, closeAll, err := s.programs(ctx, c, built.Platforms)
	defer closeAll()
	if err != nil {
		return err
	}
	edit := func(b *declcfg.Bundle) error {
		b.Image = reference.WithoutTransport(b.Image)
		for i := range b.RelatedImages {
			b.RelatedImages[i].Image = reference.WithoutTransport(b.RelatedImages[i].Image)
		}
		return c.Edit(b)
	}
	err = built.Build(ctx, dir, c.Kept, BuildOptions{
		Platforms: platforms, Limits: s.Registry.Limits,
		Write: declcfg.WriteOptions{Format: declcfg.JSON, Edit: edit, EditObject: c.Kept.Edit, Check: c.Unchanged},
	})
	if err != nil {
		return err
	}
	if c.Digest != "" {
		s.Note("catalog %s: the filtered image has a new digest, and no signature", c.Catalog)
	}
	if slices.ContainsFunc(platforms, func(p publish.Platform) bool { return p.Base != nil && !p.Base.IsOpm }) {
		s.Note("catalog %s: its image has the opm of %s and no cache, which it builds at every start", c.Catalog,
			cmp.Or(s.Base, c.Ref))
	}
	return nil
}

// unfiltered returns the digest of the image of a catalog if the image can be mirrored as it is, or "", and whether it
// has a program. Without one, the catalog must be where built images have it, too: the CatalogSource names the
// directory.
func (c *FilteredCatalog) unfiltered(ctx context.Context) (digest string, program bool, err error) {
	if c.Digest == "" || !c.Kept.Unchanged() {
		return "", false, nil
	}
	opener, err := c.Opener()
	if err != nil {
		return "", false, err
	}
	img, err := opener.Open(ctx, c.Ref)
	if err != nil {
		return "", false, err
	}
	_, dir, err := img.Kind()
	if err == nil {
		program, err = hasProgram(ctx, img)
	}
	if err := errors.Join(err, img.Close()); err != nil || !program && path.Join("/", dir) != CatalogDir {
		return "", false, err
	}
	return c.Digest, program, nil
}

// programs returns the platforms of the image of a filtered catalog, with the programs that serve it: those of
// Base or, without it, those of the source if that is an image in a registry or in an OCI layout. It returns
// nil if there is no program. Call closeAll after the image was built, and after an error.
func (s *Sources) programs(
	ctx context.Context, c *FilteredCatalog, wanted []string,
) (platforms []publish.Platform, closeAll func(), err error) {
	closeAll = func() {}
	base := s.Base
	switch {
	case base == BaseScratch:
		return nil, closeAll, nil
	case base == BaseSelf:
		return s.Self(ctx, wanted)
	case base == "" && c.Digest == "" && reference.Of(c.Ref).Kind != reference.Layout:
		return nil, closeAll, nil
	case base == "":
		base = c.Ref
	}
	names := wanted
	if wanted == nil {
		names = CatalogPlatforms
	}
	var opened []io.Closer
	closeAll = func() {
		for _, c := range slices.Backward(opened) {
			c.Close()
		}
	}
	var missing error // about the first platform without an image
	for _, name := range names {
		registry := s.Registry
		registry.Platform = name
		img, err := image.Open(ctx, base, registry)
		var p *publish.Base
		if err == nil {
			opened = append(opened, img)
			p, err = publish.NewReusedBase(ctx, img, name)
		}
		switch {
		case err == nil:
			platforms = append(platforms, publish.Platform{Name: name, Base: p})
		case s.Base == "" && errors.Is(err, publish.ErrNoProgram):
			return nil, closeAll, nil
		case errors.Is(err, image.ErrPlatform) && (s.Base == "" || wanted == nil):
			if missing == nil {
				missing = err
			}
		default:
			return nil, closeAll, err
		}
	}
	if platforms == nil && s.Base != "" {
		return nil, closeAll, missing
	}
	return platforms, closeAll, nil
}

// hasProgram reports whether an image has opm.
func hasProgram(ctx context.Context, img *image.Image) (bool, error) {
	_, err := publish.NewBase(ctx, img, img.Platform)
	if errors.Is(err, publish.ErrNoProgram) {
		return false, nil
	}
	return err == nil, err
}
