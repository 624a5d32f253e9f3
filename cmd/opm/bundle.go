package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
)

// bundleCmd, as listCmd, stands at the top and among the alpha commands, where upstream has it. Without a command that
// it knows it prints its help, as upstream does.
func bundleCmd(path string) *cobra.Command {
	path += " bundle"
	cmd := &cobra.Command{
		Use:     "bundle",
		Short:   "Make, check and unpack bundles",
		Example: "  " + path + " validate bundle -o json",
	}
	cmd.AddCommand(
		bundleBuildCmd(path),
		bundleExtractCmd(path),
		bundleGenerateCmd(path),
		bundleUnpackCmd(path),
		bundleValidateCmd(path),
	)
	return cmd
}

// An openBundle is the files of a bundle.
type openBundle struct {
	name   string // for positions
	files  fs.FS
	labels map[string]string // of its image; nil for a directory
	close  func() error
}

// openBundleRef opens a directory or an image. Of an image, those files are read that are named, all without names.
func openBundleRef(ctx context.Context, ref string, images *images, names ...string) (*openBundle, error) {
	switch {
	case exists(filepath.Join(ref, "oci-layout")):
		ref = "oci:" + ref
	case isDirectory(ref):
		return &openBundle{ref, os.DirFS(ref), nil, func() error { return nil }}, nil
	}
	opener, err := images.opener()
	if err != nil {
		return nil, err
	}
	return openBundleImage(ctx, opener, ref, names)
}

// checkBundlePath wants a file or directory of the name, unless it can be the reference of an image, which has a tag or
// a digest.
func checkBundlePath(ref string) error {
	_, err := os.Stat(ref)
	if err == nil || strings.ContainsAny(ref, ":@") {
		return nil
	}
	hint := ""
	host, _, ok := strings.Cut(ref, "/")
	if ok && strings.IndexByte(host, '.') > 0 && errors.Is(err, fs.ErrNotExist) {
		hint = fmt.Sprintf("; an image needs a tag or a digest, as in %s:latest", ref)
	}
	return fmt.Errorf("open bundle %q: %w%s", ref, errors.Unwrap(err), hint)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func openBundleImage(ctx context.Context, opener *image.Opener, ref string, names []string) (*openBundle, error) {
	if err := checkBundlePath(ref); err != nil {
		return nil, err
	}
	img, err := opener.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := img.Kind(); kind == image.Catalog { // what has no labels at all may be a bundle, which lacks them
		return nil, errors.Join(fmt.Errorf("open bundle %q: the image holds a catalog", ref), img.Close())
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

// check returns what is wrong with the bundle.
func (b *openBundle) check(opts bundle.CheckOptions) []bundle.Finding {
	opts.Labels = b.labels
	return bundle.Check(b.files, b.name, opts)
}
