package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// CatalogPlatforms are the default platforms of a catalog image: all platforms of OpenShift.
var CatalogPlatforms = []string{"linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"}

// BuildOptions configure the image of a filtered catalog.
type BuildOptions struct {
	// Platforms are the platforms of the image, with their programs. nil means the Platforms of the Image, or else
	// CatalogPlatforms, without a program.
	Platforms []publish.Platform
	Limits    image.Limits // as in [image.BuildOptions]
	Write     declcfg.WriteOptions
}

// Build builds the image of a filtered catalog into an OCI layout in dir, which must exist and is used until the image
// is copied. The image has a Source, a target and Platforms.
func (i *Image) Build(ctx context.Context, dir string, kept *filter.Result, o BuildOptions) error {
	files, layout := filepath.Join(dir, "catalog"), filepath.Join(dir, "image")
	if err := declcfg.WriteDir(ctx, files, kept.Metas, o.Write); err != nil {
		return err
	}
	opts := publish.Options{Platforms: o.Platforms, Limits: o.Limits}
	if opts.Platforms == nil {
		names := i.Platforms
		if names == nil {
			names = CatalogPlatforms
		}
		for _, p := range names {
			opts.Platforms = append(opts.Platforms, publish.Platform{Name: p})
		}
	}
	for _, p := range opts.Platforms {
		i.Program = i.Program || p.Binary != nil || p.Base != nil
		if p.Base != nil {
			opts.HTTPAddr = cmp.Or(opts.HTTPAddr, p.Base.HTTPAddr)
		}
	}
	built, err := publish.Build(ctx, declcfg.Source{Name: i.Source, FS: os.DirFS(files)}, opts)
	if err != nil {
		return err
	}
	err = image.WriteLayout(built.Artifact, layout, "")
	if err := errors.Join(err, built.Close()); err != nil {
		return err
	}
	root, err := os.OpenRoot(layout)
	if err != nil {
		return err
	}
	i.Digest, i.Catalog, i.dir = built.Summary.Digest, true, &Directory{name: layout, root: root}
	return nil
}

// CatalogDir is the directory of the catalog in images from [Image.Build].
const CatalogDir = "/configs"

// Copy makes the image of a catalog a copy of its source, with this digest and its signatures. program reports whether
// the source has a program that serves the catalog.
func (i *Image) Copy(digest string, program bool) error {
	ref, err := parse(i.Source)
	if err != nil {
		return err
	}
	i.Digest, i.Catalog, i.Program, i.from = digest, true, program, ref
	return nil
}

// notInPath matches the characters that are replaced in the path of a repository.
var notInPath = regexp.MustCompile(`[^a-z0-9]+`)

// digestTag is the number of hexadecimal digits in the tag of a catalog by digest, as oc-mirror has it in names.
const digestTag = 12

// Catalog returns the repository and the tag of a catalog in the mirror. target is PATH, PATH:TAG, :TAG or "". A
// missing part is from the source: the repository and the tag of an image, or else the beginning of its digest; or the
// name of a directory or file and the tag latest.
func (n Names) Catalog(source, target string) (repo, tag string, err error) {
	tag = "latest"
	if ref, err := image.ParseReference(source); err == nil {
		repo = n.repository(ref.Context())
		switch ref := ref.(type) {
		case name.Tag:
			tag = ref.TagStr()
		case name.Digest:
			_, hex, _ := strings.Cut(ref.DigestStr(), ":")
			tag = hex[:digestTag]
		}
	} else {
		base := notInPath.ReplaceAllString(strings.ToLower(filepath.Base(source)), "-")
		repo = cmp.Or(strings.Trim(base, "-"), "catalog")
	}
	path, chosen, hasTag := strings.Cut(target, ":")
	if path != "" {
		repo = n.flatten(path)
	}
	if hasTag {
		tag = chosen
	}
	if _, err := image.ParseReference("mirror.example/" + repo + ":" + tag); err != nil {
		return "", "", fmt.Errorf("%q is not a valid name: want PATH, PATH:TAG or :TAG, in lower case", cmp.Or(target, repo))
	}
	return repo, tag, nil
}

// Close closes the layout of an image from [Image.Build].
func (i *Image) Close() error {
	if i.dir == nil {
		return nil
	}
	return i.dir.Close()
}
