package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Sources are the catalogs and images to mirror.
type Sources struct {
	Config       *filter.Config // nil for none
	Names        Names
	CatalogImage string   // the name of the only catalog in the mirror; "" for a name by its source
	Additional   []string // images besides those of the config
	Platforms    []string // of images whose entry in the config names none; nil means all

	// Namespace returns the namespace of the CatalogSource for a catalog, "" for the default.
	Namespace func(catalog string) (string, error)

	Base     string        // of filtered catalogs: an image, [BaseSelf] or [BaseScratch]; "" for their sources
	Registry image.Options // for opening bases

	// Self returns the programs of [BaseSelf] for platforms. The caller calls closeAll, also after an error.
	Self func(ctx context.Context, platforms []string) (programs []publish.Platform, closeAll func(), err error)

	Warn, Note func(format string, args ...any)
}

// Values of Base that are not images.
const (
	BaseSelf    = "self"    // the opm that builds the image
	BaseScratch = "scratch" // no program
)

// A Catalog is a catalog to mirror.
type Catalog struct {
	Ref   string
	Entry *filter.Entry // of the config; nil without one

	repository, tag string // in the mirror
	template        []byte // of the CatalogSource; nil for none
	namespace       string // of the CatalogSource; "" for the default
}

// String returns the reference, with the position of the entry.
func (c *Catalog) String() string {
	if c.Entry == nil {
		return c.Ref
	}
	return fmt.Sprintf("%s (%s)", c.Ref, c.Entry.Pos())
}

// Catalogs returns the catalogs with these references, with their entries in the config or, without references, all
// catalogs of the config. A reference that the config does not have ends it with an
// error; other errors, also about equal names in the mirror, are joined.
func (s *Sources) Catalogs(refs []string) (catalogs []*Catalog, err error) {
	for _, ref := range refs {
		if s.Config == nil {
			catalogs = append(catalogs, &Catalog{Ref: ref})
			continue
		}
		entries, err := s.Config.EntriesOf(ref)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			catalogs = append(catalogs, &Catalog{Ref: ref, Entry: e})
		}
	}
	if s.Config != nil && len(refs) == 0 {
		for _, e := range s.Config.Entries() {
			catalogs = append(catalogs, &Catalog{Ref: e.Catalog, Entry: e})
		}
	}
	return catalogs, s.name(catalogs)
}

// name sets the names of catalogs in the mirror, and their templates. It is an error if two names are equal.
func (s *Sources) name(catalogs []*Catalog) error {
	var errs []error
	known := map[string]*Catalog{}
	for _, c := range catalogs {
		target := s.CatalogImage
		if c.Entry != nil && target == "" {
			target = c.Entry.Target()
		}
		var err error
		if c.namespace, err = s.Namespace(c.Ref); err != nil {
			errs = append(errs, err)
		}
		if c.Entry != nil {
			c.template, err = readTemplate(c.Entry.Template)
			errs = append(errs, c.Entry.Located("targetCatalogSourceTemplate", err))
			errs = append(errs, c.Entry.Located("platforms", image.CheckPlatforms(c.Entry.Platforms...)))
		}
		if c.repository, c.tag, err = s.Names.Catalog(c.Ref, target); err != nil {
			if c.Entry != nil && s.CatalogImage == "" {
				err = c.Entry.Located("targetCatalog", err)
			} else {
				err = fmt.Errorf("catalog %s: %w", c, err)
			}
			errs = append(errs, err)
			continue
		}
		name := c.repository + ":" + c.tag
		if first := known[name]; first != nil {
			errs = append(errs, fmt.Errorf("catalogs %s and %s would both be %s in the mirror: combine them, or choose other "+
				"names with targetCatalog or targetTag", first, c, name))
			continue
		}
		known[name] = c
	}
	return errors.Join(errs...)
}

// maxTemplate is the maximum size of the template of a CatalogSource, in bytes.
const maxTemplate = 1 << 20

// readTemplate reads the template of a CatalogSource. It returns nil for no file.
func readTemplate(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	dir, name := filepath.Split(file)
	text, err := regular.ReadFile(os.DirFS(cmp.Or(dir, ".")), name, maxTemplate)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, regular.WithoutPath(err))
	}
	return manifests.ParseTemplate(file, text)
}

// AdditionalImages returns the images of Additional and of additionalImages in the config.
func (s *Sources) AdditionalImages() (images []*Image, err error) {
	add := func(ref string) (*Image, error) {
		img, err := s.Names.New(ref)
		if err != nil {
			return nil, err
		}
		if full := image.OnDockerHub(ref); full != "" {
			s.Warn("image %s has no registry in the reference: taking %s", ref, full)
		}
		images = append(images, img)
		return img, nil
	}
	for _, ref := range s.Additional {
		if _, err := add(ref); err != nil {
			return nil, err
		}
	}
	if s.Config == nil {
		return images, nil
	}
	var errs []error
	for _, i := range s.Config.AdditionalImages() {
		img, err := add(i.Name)
		if err != nil {
			errs = append(errs, i.Located("name", err))
			continue
		}
		img.Platforms = i.Platforms
		errs = append(errs, i.Located("platforms", image.CheckPlatforms(i.Platforms...)))
		key := "targetRepo"
		if i.TargetRepo == "" {
			key = "targetTag"
		}
		errs = append(errs, i.Located(key, s.Names.Rename(img, i.TargetRepo, i.TargetTag)))
	}
	return images, errors.Join(errs...)
}

// PlatformsOf returns the platforms of the images of a catalog, nil for all.
func (s *Sources) PlatformsOf(c *Catalog) []string {
	if c.Entry != nil && c.Entry.Platforms != nil {
		return c.Entry.Platforms
	}
	return s.Platforms
}

// Unusable returns the reason why an image of a catalog cannot be mirrored, or nil, also for an image that the config
// blocks.
func (s *Sources) Unusable(c *Catalog, ref string) error {
	if img := s.imageOf(c, ref); img != nil && img.Failure != "" {
		return errors.New(img.Failure)
	}
	return nil
}

// imageOf returns the image for a reference in a catalog, or nil if the config blocks it. If the reference is not
// valid, the image has a failure.
func (s *Sources) imageOf(c *Catalog, ref string, uses ...Use) *Image {
	if c.Entry != nil && c.Entry.Blocks(reference.WithoutTransport(ref)) {
		return nil
	}
	img, err := s.Names.New(ref, uses...)
	if err != nil {
		img = FailedImage(ref, err, uses...)
	}
	img.Platforms = s.PlatformsOf(c)
	return img
}
