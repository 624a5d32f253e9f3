package mirror

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/opm-toolchain/opm/pkg/image"
)

// Names maps source repositories to repositories of the mirror. The zero value drops the registry.
type Names struct {
	KeepHosts     bool // begin with the host of the source, such as quay.io or localhost-5000
	MaxComponents int  // maximum number of components of a path; 0 for no limit. The last ones are joined with dashes
}

// repository returns the path of the mirror of a repository.
func (n Names) repository(source name.Repository) string {
	path := source.RepositoryStr()
	if n.KeepHosts {
		path = strings.ReplaceAll(source.RegistryStr(), ":", "-") + "/" + path
	}
	return n.flatten(path)
}

// flatten joins the components of a path that are too many.
func (n Names) flatten(path string) string {
	parts := strings.Split(path, "/")
	if most := n.MaxComponents; most > 0 && len(parts) > most {
		parts = append(parts[:most-1:most-1], strings.Join(parts[most-1:], "-"))
	}
	return strings.Join(parts, "/")
}

// New returns the image for a reference: with a tag, or else with a digest.
func (n Names) New(reference string, uses ...Use) (*Image, error) {
	ref, err := image.ParseReference(reference)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", reference, err)
	}
	img := &Image{Source: reference, Repository: n.repository(ref.Context()), Uses: uses, from: ref}
	switch ref := ref.(type) {
	case name.Tag:
		img.Tag = ref.TagStr()
	case name.Digest:
		img.Digest = ref.DigestStr()
	}
	return img, nil
}

// checkNames returns an error for each target that two sources have in common. Equal digests are the same content.
func checkNames(images []*Image) error {
	var errs []error
	sources := map[string]*Image{}
	for _, img := range images {
		if img.Tag == "" {
			continue
		}
		target := img.Repository + ":" + img.Tag
		if other := sources[target]; other != nil {
			errs = append(errs, fmt.Errorf("%s and %s would both be %s in the mirror: "+
				"choose other names with --keep-hosts, --max-components or --catalog-image", other.Source, img.Source, target))
			continue
		}
		sources[target] = img
	}
	return errors.Join(errs...)
}

// Rename gives the images of a directory the names that they would have had if it had been written with these Names.
func (n Names) Rename(images []*Image) {
	for _, img := range images {
		if img.Catalog {
			img.Repository = n.flatten(img.Repository)
		} else if ref, err := image.ParseReference(img.Source); err == nil {
			img.Repository = n.repository(ref.Context())
		}
	}
}
