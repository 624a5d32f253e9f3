package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// besideVerify are the flags of mirror that cannot be combined with --verify.
var besideVerify = []string{
	"to-dir", "from-dir", "dry-run", "record", "since", "retry-failed", "incomplete", "image", "catalog-image",
	"base-image", "manifests", "namespace", "icsp", "config", "package", "full", "default-channel", "with-dependencies",
}

// checkVerify checks the flags and arguments of --verify.
func (f *mirrorFlags) checkVerify(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: --verify reads what the record or the configuration names", args[0])
	}
	return nil
}

// runVerify checks whether a mirror is complete, and prints the incomplete images.
func (f *mirrorFlags) runVerify(cmd *cobra.Command) (err error) {
	registry, err := f.filter.images.options(cmd)
	if err != nil {
		return err
	}
	opener := image.NewOpener(registry)
	defer func() { err = errors.Join(err, opener.Close(), registry.Cache.Close()) }()
	opts := mirror.Options{
		Opener: opener, Platforms: f.platforms, Limits: image.Limits{Manifests: f.maxManifests}, Progress: display(cmd),
		Log: registry.Log,
	}
	isConfig, err := filter.IsConfig(f.verify)
	if err != nil {
		return fmt.Errorf("--verify: %w", err)
	}
	plan, err := f.verifyFile(cmd, isConfig, opts)
	if err != nil {
		return fmt.Errorf("--verify %s: %w", f.verify, err)
	}
	return f.print(cmd, plan.Report())
}

// verifyFile checks the images of a record or a configuration.
func (f *mirrorFlags) verifyFile(cmd *cobra.Command, isConfig bool, opts mirror.Options) (*mirror.Plan, error) {
	if isConfig {
		return f.verifyConfig(cmd, opts)
	}
	defer display(cmd).StartLogged("verifying")()
	return mirror.VerifyRecord(cmd.Context(), f.verify, f.to, opts)
}

// verifyConfig checks the catalogs of a configuration in the mirror, the images that these name, and the additional
// images. It asks only the mirror.
func (f *mirrorFlags) verifyConfig(cmd *cobra.Command, opts mirror.Options) (*mirror.Plan, error) {
	if f.to == "" {
		return nil, cmdline.Errorf("--to is missing: it says where the images are")
	}
	f.filter.config = f.verify
	sources, err := f.sources(cmd)
	if err != nil {
		return nil, err
	}
	catalogs, err := sources.Catalogs(nil)
	if err != nil {
		return nil, err
	}
	to, err := mirror.ToRegistry(opts.Opener, f.to)
	if err != nil {
		return nil, err
	}
	images, err := sources.AdditionalImages()
	if err != nil {
		return nil, err
	}
	for _, c := range catalogs {
		found, err := f.mirroredImages(cmd, sources, to, c)
		if err != nil {
			return nil, err
		}
		images = append(images, found...)
	}
	for _, img := range images {
		if img.Failure == "" {
			if err := img.InTarget(to); err != nil {
				return nil, err
			}
		}
	}
	defer display(cmd).StartLogged("verifying")()
	return mirror.Verify(cmd.Context(), images, to, opts)
}

// mirroredImages returns a catalog in the mirror, and the images that it names. A catalog that cannot be read is a
// failed image.
func (f *mirrorFlags) mirroredImages(
	cmd *cobra.Command, sources *mirror.Sources, to *mirror.Registry, from *mirror.Catalog,
) ([]*mirror.Image, error) {
	built := from.InMirror()
	images, err := f.namedImages(cmd, sources, to.String()+"/"+built.Target(), from)
	switch {
	case err == nil:
		return append([]*mirror.Image{built}, images...), nil
	case cmd.Context().Err() != nil:
		return nil, err
	}
	return []*mirror.Image{mirror.FailedImage(from.Ref, err)}, nil
}

// namedImages returns the images that a catalog names. ref is the catalog in the mirror.
func (f *mirrorFlags) namedImages(
	cmd *cobra.Command, sources *mirror.Sources, ref string, from *mirror.Catalog,
) ([]*mirror.Image, error) {
	defer display(cmd).Start("reading")()
	opened := f.filter.images
	if platforms := sources.PlatformsOf(from); len(platforms) > 0 {
		opened.platform = platforms[0]
	}
	c, err := opened.openCatalog(cmd, openOptions(cmd), ref)
	if err != nil {
		return nil, err
	}
	defer c.close()
	index, err := declcfg.ReadIndex(cmd.Context(), c.Sources...)
	if err != nil {
		return nil, err
	}
	var metas []*declcfg.Meta
	for _, x := range index.Packages() {
		for _, b := range x.Bundles {
			metas = append(metas, b.Meta)
		}
	}
	return sources.NamedImages(cmd.Context(), from, metas)
}
