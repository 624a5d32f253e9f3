package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// bundleCmd returns the bundle commands, which exist at the top level and, as upstream, below alpha.
func bundleCmd(path string) *cobra.Command {
	path += " bundle"
	return cmdline.Group(&cobra.Command{
		Use:     "bundle",
		Short:   "Generate, check and unpack bundles",
		Example: "  " + path + " validate bundle -o json",
	}, bundleBuildCmd(path), bundleExtractCmd(path), bundleGenerateCmd(path), bundleManifestsCmd(path),
		bundleUnpackCmd(path), bundleValidateCmd(path))
}

// An openBundle is the files of a bundle.
type openBundle struct {
	name   string // for positions
	files  fs.FS
	labels map[string]string // of its image; nil for a directory
	close  func() error
}

// openBundle opens the bundle in a directory or an image. Of an image, it reads only manifests and metadata.
func (f *imageFlags) openBundle(cmd *cobra.Command, ref string) (*openBundle, error) {
	images, err := f.open(cmd)
	if err != nil {
		return nil, err
	}
	b, err := openBundleRef(cmd.Context(), ref, images)
	if err != nil {
		return nil, errors.Join(err, images.close())
	}
	closeBundle := b.close
	b.close = func() error { return errors.Join(closeBundle(), images.close()) }
	return b, nil
}

func openBundleRef(ctx context.Context, ref string, images *images) (*openBundle, error) {
	switch r := reference.Of(ref); r.Kind {
	case reference.LayoutDirectory:
		ref = reference.LayoutPrefix + ref
	case reference.Directory:
		if err := input.CatalogError(ctx, ref); err != nil {
			return nil, err
		}
		return &openBundle{ref, os.DirFS(ref), nil, func() error { return nil }}, nil
	}
	opener, err := images.opener()
	if err != nil {
		return nil, err
	}
	return openBundleImage(ctx, opener, ref, "manifests", "metadata")
}

// openBundleImage opens a bundle image. It reads the named files, or all files if there are no names.
func openBundleImage(ctx context.Context, opener *image.Opener, ref string, names ...string) (*openBundle, error) {
	if r := reference.Of(ref); r.Kind == reference.Missing {
		return nil, fmt.Errorf("open bundle %q: %w", ref, r.Err)
	}
	if err := input.CatalogError(ctx, ref); err != nil {
		return nil, err
	}
	img, err := opener.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := img.Kind(); kind == image.Catalog { // an image without labels may be a bundle that lacks them
		return nil, errors.Join(input.NotBundle(ref, "a catalog image"), img.Close())
	}
	files, err := img.Files(ctx, "/", names...)
	if err != nil {
		return nil, errors.Join(err, img.Close())
	}
	labels := img.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return &openBundle{ref, files, labels, img.Close}, nil
}

// check returns the problems of the bundle.
func (b *openBundle) check(opts bundle.CheckOptions) []*problem.Problem {
	opts.Labels = b.labels
	return bundle.Check(b.files, b.name, opts)
}
