package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A mirroredCatalog is a catalog to mirror.
type mirroredCatalog struct {
	ref       string
	entry     *filter.Entry // of the config; nil without one
	repo, tag string        // in the mirror
	template  []byte        // of the CatalogSource; nil for none
	namespace string        // of the CatalogSource; "" for the default
}

// String returns the reference, with the position of the entry.
func (c *mirroredCatalog) String() string {
	if c.entry == nil {
		return c.ref
	}
	return fmt.Sprintf("%s (%s)", c.ref, c.entry.Pos())
}

// readConfig reads the config, which is nil without --config, and returns the catalogs to mirror.
func (f *mirrorFlags) readConfig(cmd *cobra.Command, args []string) (*filter.Config, []*mirroredCatalog, error) {
	var catalogs []*mirroredCatalog
	if f.filter.config == "" {
		for _, ref := range args {
			catalogs = append(catalogs, &mirroredCatalog{ref: ref})
		}
		return nil, catalogs, f.nameCatalogs(catalogs)
	}
	config, err := filter.ReadConfig(f.filter.config)
	if err == nil {
		err = config.CheckMirrored()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, w := range config.Ignored() {
		warnAt(cmd, w.Pos, w.Message())
	}
	for _, ref := range args {
		entries, err := config.EntriesOf(ref)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			catalogs = append(catalogs, &mirroredCatalog{ref: ref, entry: e})
		}
	}
	if len(args) == 0 {
		for _, e := range config.Entries() {
			catalogs = append(catalogs, &mirroredCatalog{ref: e.Catalog, entry: e})
		}
	}
	return config, catalogs, f.nameCatalogs(catalogs)
}

// readSourceTemplate reads the template of a CatalogSource. It returns nil for no file.
func readSourceTemplate(file string) ([]byte, error) {
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

// maxTemplate is the maximum size of the template of a CatalogSource, in bytes.
const maxTemplate = 1 << 20

// nameCatalogs sets the names of catalogs in the mirror, and their templates. It is an error if two names are equal.
func (f *mirrorFlags) nameCatalogs(catalogs []*mirroredCatalog) error {
	var errs []error
	known := map[string]*mirroredCatalog{}
	for _, c := range catalogs {
		target := f.catalogImage
		if c.entry != nil && target == "" {
			target = c.entry.Target()
		}
		var err error
		if c.namespace, err = namespaceOf(c.ref); err != nil {
			errs = append(errs, err)
		}
		if c.entry != nil {
			c.template, err = readSourceTemplate(c.entry.Template)
			errs = append(errs, c.entry.Located("targetCatalogSourceTemplate", err))
			errs = append(errs, c.entry.Located("platforms", image.CheckPlatforms(c.entry.Platforms...)))
		}
		if c.repo, c.tag, err = f.names.Catalog(c.ref, target); err != nil {
			if c.entry != nil && f.catalogImage == "" {
				err = c.entry.Located("targetCatalog", err)
			} else {
				err = fmt.Errorf("catalog %s: %w", c, err)
			}
			errs = append(errs, err)
			continue
		}
		name := c.repo + ":" + c.tag
		if first := known[name]; first != nil {
			errs = append(errs, fmt.Errorf("catalogs %s and %s would both be %s in the mirror: combine them, or choose other "+
				"names with targetCatalog or targetTag", first, c, name))
			continue
		}
		known[name] = c
	}
	return errors.Join(errs...)
}

// namespaceOf returns the namespace of the CatalogSource for a catalog whose target in opm.yaml is Kubernetes without
// OpenShift, or "".
func namespaceOf(ref string) (string, error) {
	config, err := readConfig("", ref)
	if err != nil {
		return "", err
	}
	target, err := config.TargetOf(ref)
	if err != nil || target.Kubernetes == (platform.Version{}) || target.OpenShift != (platform.Version{}) {
		return "", err
	}
	return "olm", nil
}

// additionalImages returns the images of --image and of additionalImages in the config.
func (f *mirrorFlags) additionalImages(cmd *cobra.Command, config *filter.Config) (images []*mirror.Image, err error) {
	add := func(ref string) (*mirror.Image, error) {
		img, err := f.names.New(ref)
		if err != nil {
			return nil, err
		}
		if full := image.OnDockerHub(ref); full != "" {
			warn(cmd, "image %s has no registry in the reference: taking %s", ref, full)
		}
		images = append(images, img)
		return img, nil
	}
	for _, ref := range f.additional {
		if _, err := add(ref); err != nil {
			return nil, err
		}
	}
	if config == nil {
		return images, nil
	}
	var errs []error
	for _, i := range config.AdditionalImages() {
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
		errs = append(errs, i.Located(key, f.names.Rename(img, i.TargetRepo, i.TargetTag)))
	}
	return images, errors.Join(errs...)
}

// ofCatalog builds the image of a filtered catalog, and returns it with the images that the catalog names.
func (f *mirrorFlags) ofCatalog(
	ctx context.Context, dir string, from *mirroredCatalog, c *catalog, kept *filter.Result,
) ([]*mirror.Image, error) {
	platforms := f.platforms
	if from.entry != nil && from.entry.Platforms != nil {
		platforms = from.entry.Platforms
	}
	built := &mirror.Image{
		Source: from.ref, Repository: from.repo, Tag: from.tag, CatalogSource: from.template, Platforms: platforms,
		Namespace: from.namespace,
	}
	images := []*mirror.Image{built}
	short, transport := map[string]bool{}, map[string]bool{}
	all := &filter.Result{Metas: kept.Metas} // with the blocked images, whose references the catalog has, too
	err := all.EachImage(ctx, func(ref string, by *declcfg.Bundle) {
		plain := reference.WithoutTransport(ref)
		if plain != ref {
			transport[ref] = true
		}
		img := f.imageOf(from, ref, mirror.Use{Package: by.Package, Bundle: by.Name})
		if img == nil {
			return
		}
		img.Platforms = platforms
		if full := image.OnDockerHub(plain); full != "" {
			short[fmt.Sprintf("%s as %s", plain, full)] = true
		}
		images = append(images, img)
	})
	if err != nil {
		return nil, err
	}
	if err := f.buildCatalog(ctx, dir, from, built, c, kept, len(transport) > 0); err != nil {
		return nil, fmt.Errorf("image of catalog %s: %w", from, err)
	}
	if n := len(transport); n > 0 {
		warn(c.cmd, "catalog %s: the mirrored catalog has %s without docker://, which upstream's opm refuses", from,
			plural.Words(n, "image", "images"))
	}
	if len(short) > 0 {
		warn(c.cmd, "catalog %s: %s no registry in the reference, and clusters may be configured to ask another one than "+
			"Docker Hub: taking %s", from, plural.Words(len(short), "image has", "images have"),
			plural.Some(slices.Sorted(maps.Keys(short))))
	}
	return images, nil
}

// imageOf returns the image for a reference in a catalog, or nil if the config blocks it. If the reference is not
// valid, the image has a failure.
func (f *mirrorFlags) imageOf(from *mirroredCatalog, ref string, uses ...mirror.Use) *mirror.Image {
	if from.entry != nil && from.entry.Blocks(reference.WithoutTransport(ref)) {
		return nil
	}
	img, err := f.names.New(ref, uses...)
	if err != nil {
		return mirror.Unusable(ref, err, uses...)
	}
	return img
}

// buildCatalog makes built a copy of the catalog image if nothing of it changes, or else builds it in dir from what is
// kept. transport reports whether docker:// is removed from references in it.
func (f *mirrorFlags) buildCatalog(
	ctx context.Context, dir string, from *mirroredCatalog, built *mirror.Image, c *catalog, kept *filter.Result,
	transport bool,
) error {
	if !transport && f.base == "" {
		digest, program, err := c.unfiltered(ctx, kept)
		if err != nil {
			return err
		}
		if digest != "" {
			return built.Copy(digest, program)
		}
	}
	platforms, closeAll, err := f.programs(ctx, c, built.Platforms)
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
	err = built.Build(ctx, dir, kept, mirror.BuildOptions{
		Platforms: platforms, Limits: f.registry.Limits,
		Write: declcfg.WriteOptions{Format: declcfg.JSON, Edit: edit, EditObject: kept.Edit, Check: c.Unchanged},
	})
	if err != nil {
		return err
	}
	stderr := c.cmd.ErrOrStderr()
	if c.digest() != "" {
		fmt.Fprintf(stderr, "opm: catalog %s: the filtered image has a new digest, and no signature\n", from)
	}
	if slices.ContainsFunc(platforms, func(p publish.Platform) bool { return p.Base != nil && !p.Base.IsOpm }) {
		fmt.Fprintf(stderr, "opm: catalog %s: its image has the opm of %s and no cache, which it builds at every start\n",
			from, cmp.Or(f.base, from.ref))
	}
	return nil
}

// digest returns the digest of a catalog that is an image in a registry, or "".
func (c *catalog) digest() string {
	for _, r := range c.Lock.References {
		if len(c.refs) == 1 && r.Reference == c.refs[0] {
			return r.Digest
		}
	}
	return ""
}

// unfiltered returns the digest of the image of a catalog if the image can be mirrored as it is, or "", and whether it
// has a program. Without one, the catalog must be where built images have it, too: the CatalogSource names the
// directory.
func (c *catalog) unfiltered(ctx context.Context, kept *filter.Result) (digest string, program bool, err error) {
	if c.digest() == "" || !kept.Unchanged() {
		return "", false, nil
	}
	opener, err := c.images.opener()
	if err != nil {
		return "", false, err
	}
	img, err := opener.Open(ctx, c.refs[0])
	if err != nil {
		return "", false, err
	}
	_, dir, err := img.Kind()
	if err == nil {
		program, err = hasProgram(ctx, img)
	}
	if err := errors.Join(err, img.Close()); err != nil || !program && path.Join("/", dir) != mirror.CatalogDir {
		return "", false, err
	}
	return c.digest(), program, nil
}
