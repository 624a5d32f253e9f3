package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// bundleCmd returns the bundle commands, which exist at the top level and, as upstream, below alpha.
func bundleCmd(path string) *cobra.Command {
	path += " bundle"
	return group(&cobra.Command{
		Use:     "bundle",
		Short:   "Generate, check and unpack bundles",
		Example: "  " + path + " validate bundle -o json",
	},
		bundleBuildCmd(path),
		bundleExtractCmd(path),
		bundleGenerateCmd(path),
		bundleManifestsCmd(path),
		bundleUnpackCmd(path),
		bundleValidateCmd(path),
	)
}

// An openBundle is the files of a bundle.
type openBundle struct {
	name   string // for positions
	files  fs.FS
	labels map[string]string // of its image; nil for a directory
	close  func() error
}

// openBundleRef opens a directory or an image. Of an image, it reads the named files, or all without names.
func openBundleRef(ctx context.Context, ref string, images *images, names ...string) (*openBundle, error) {
	switch r := reference.Of(ref); r.Kind {
	case reference.LayoutDirectory:
		ref = reference.LayoutPrefix + ref
	case reference.Directory:
		if err := catalogError(ctx, ref); err != nil {
			return nil, err
		}
		return &openBundle{ref, os.DirFS(ref), nil, func() error { return nil }}, nil
	}
	opener, err := images.opener()
	if err != nil {
		return nil, err
	}
	return openBundleImage(ctx, opener, ref, names)
}

func openBundleImage(ctx context.Context, opener *image.Opener, ref string, names []string) (*openBundle, error) {
	if r := reference.Of(ref); r.Kind == reference.Missing {
		return nil, fmt.Errorf("open bundle %q: %w", ref, r.Err)
	}
	if err := catalogError(ctx, ref); err != nil {
		return nil, err
	}
	img, err := opener.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := img.Kind(); kind == image.Catalog { // an image without labels may be a bundle that lacks them
		return nil, errors.Join(notBundle(ref, "a catalog image"), img.Close())
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

const imageRefTemplate = "alpha-image-ref-template"

// bundleFlags are the flags of commands that read bundles.
type bundleFlags struct {
	imageRef  string
	envImages bool
	strict    bool
}

func (f *bundleFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.envImages, "env-related-images", false,
		"add the images in environment variables RELATED_IMAGE_* of bundles to their related images")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail on bundles with files that would be ignored with a warning")
}

// addImageRef adds the flag that is about bundle directories.
func (f *bundleFlags) addImageRef(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.imageRef, imageRefTemplate, "",
		"image of a bundle directory, as a `TEMPLATE` with {{.Package}}, {{.Name}} and {{.Version}}")
}

// options returns how bundles are read. Warnings about ignored files go to standard error.
func (f *bundleFlags) options(cmd *cobra.Command) (*bundle.Options, error) {
	opts := &bundle.Options{Strict: f.strict, EnvImages: f.envImages, Warn: func(e *declcfg.Error) {
		fmt.Fprintln(cmd.ErrOrStderr(), placed(e.Pos, "warning", e.Message()))
	}}
	if f.imageRef == "" {
		return opts, nil
	}
	tmpl, err := template.New("image").Parse(f.imageRef)
	if err != nil {
		return nil, usageError{fmt.Errorf("--%s: %w", imageRefTemplate, err)}
	}
	opts.ImageRef = tmpl
	return opts, nil
}
