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
	to, err := mirror.ToRegistry(opts.Opener, f.to)
	if err != nil {
		return nil, err
	}
	read := display(cmd).Start("reading")
	images, err := sources.Expected(cmd.Context(), to, func(ref, platform string) ([]declcfg.Source, func(), error) {
		from := f.filter.images
		if platform != "" {
			from.platform = platform
		}
		c, err := from.openCatalog(cmd, openOptions(cmd), ref)
		if err != nil {
			return nil, nil, err
		}
		return c.Sources, c.close, nil
	})
	read()
	if err != nil {
		return nil, err
	}
	defer display(cmd).StartLogged("verifying")()
	return mirror.Verify(cmd.Context(), images, to, opts)
}
