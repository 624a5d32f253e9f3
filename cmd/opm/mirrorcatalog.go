package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A mirroredCatalog is a catalog to mirror.
type mirroredCatalog struct {
	ref       string
	entry     *filter.Entry // of the config; nil without one
	repo, tag string        // in the mirror
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
	if config.StorageConfig != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: %s: storageConfig is ignored: the record of opm mirror is the file "+
			"of --record\n", f.filter.config)
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

// nameCatalogs sets the names of catalogs in the mirror. It is an error if two are equal.
func (f *mirrorFlags) nameCatalogs(catalogs []*mirroredCatalog) error {
	var errs []error
	known := map[string]*mirroredCatalog{}
	for _, c := range catalogs {
		target := f.catalogImage
		if c.entry != nil && target == "" {
			target = c.entry.Target()
		}
		var err error
		if c.repo, c.tag, err = f.names.Catalog(c.ref, target); err != nil {
			errs = append(errs, fmt.Errorf("catalog %s: %w", c, err))
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

// ofCatalog builds the image of a filtered catalog, and returns it with the images that the catalog names.
func (f *mirrorFlags) ofCatalog(
	ctx context.Context, dir string, from *mirroredCatalog, c *catalog, kept *filter.Result,
) ([]*mirror.Image, error) {
	write := declcfg.WriteOptions{Format: declcfg.JSON, Edit: c.Edit, EditObject: kept.Edit, Check: c.Unchanged}
	built := &mirror.Image{Source: from.ref, Repository: from.repo, Tag: from.tag}
	if err := built.Build(ctx, dir, kept, write, f.platforms); err != nil {
		return nil, fmt.Errorf("build the image of catalog %s: %w", from, err)
	}
	images := []*mirror.Image{built}
	short := map[string]bool{}
	err := kept.EachImage(ctx, func(ref string, by *declcfg.Bundle) {
		use := mirror.Use{Package: by.Package, Bundle: by.Name}
		img, err := f.names.New(ref, use)
		switch {
		case err == nil:
		case f.filter.images.keepGoing:
			warn(c.cmd, "package %q: bundle %q: %v: the image is left out", by.Package, by.Name, err)
			return
		default:
			img = mirror.Unusable(ref, err, use)
		}
		if full := image.OnDockerHub(ref); full != "" {
			short[fmt.Sprintf("%s as %s", ref, full)] = true
		}
		images = append(images, img)
	})
	if len(short) > 0 {
		warn(c.cmd, "catalog %s: %s no registry in the reference, and clusters may be configured to ask another one than "+
			"Docker Hub: taking %s", from, plural.Words(len(short), "image has", "images have"),
			plural.Some(slices.Sorted(maps.Keys(short))))
	}
	return images, err
}
