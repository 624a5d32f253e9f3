package image

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/reference"
)

// bundlePlatform is the platform of bundle images on every build machine, because bundles contain no programs.
const bundlePlatform = "linux/amd64"

// BuildBundle builds the image of a bundle. An empty platform means linux/amd64.
func BuildBundle(labels map[string]string, platform string, manifests, metadata fs.FS) (v1.Image, error) {
	return Build(BuildOptions{
		Labels:   labels,
		Platform: cmp.Or(platform, bundlePlatform),
		Contents: []Content{
			{Source: manifests, Target: "manifests"},
			{Source: metadata, Target: "metadata"},
		},
	})
}

// CheckTarget returns an error if [Put] cannot write to ref.
func CheckTarget(ref string) error {
	if reference.Of(ref).Kind == reference.Layout {
		return nil
	}
	parsed, err := ParseReference(ref)
	if err == nil && !strings.HasSuffix(ref, ":"+parsed.Identifier()) {
		err = errors.New("want a tag, as in HOST/PATH:TAG")
	}
	return err
}

// Put writes img to ref, an OCI layout (oci:DIRECTORY[:TAG]) or a tag in a registry, and returns its digest. It calls
// options only for a registry, and closes their Cache.
func Put(ctx context.Context, img Artifact, ref string, options func() (Options, error)) (string, error) {
	if to := reference.Of(ref); to.Kind == reference.Layout {
		if err := WriteLayout(img, to.Path, to.Name); err != nil {
			return "", err
		}
		digest, err := img.Digest()
		return digest.String(), err
	}
	opts, err := options()
	if err != nil {
		return "", err
	}
	digest, err := Push(ctx, img, ref, opts)
	return digest, errors.Join(err, opts.Cache.Close())
}
