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
	KeepHosts     bool // paths begin with the host of the source, such as quay.io or localhost-5000
	MaxComponents int  // maximum number of components of a path; 0 for no limit. The last ones are joined with dashes
}

// repository returns the path of a source repository in the mirror.
func (n Names) repository(source name.Repository) string {
	path := source.RepositoryStr()
	if n.KeepHosts {
		path = strings.ReplaceAll(source.RegistryStr(), ":", "-") + "/" + path
	}
	return n.flatten(path)
}

// flatten joins the last components of a path if it has more than MaxComponents.
func (n Names) flatten(path string) string {
	parts := strings.Split(path, "/")
	if most := n.MaxComponents; most > 0 && len(parts) > most {
		parts = append(parts[:most-1:most-1], strings.Join(parts[most-1:], "-"))
	}
	return strings.Join(parts, "/")
}

// New returns the image for a reference. An image whose reference has no tag is mirrored by digest.
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

// checkNames returns an error for each tag that is the target of two sources. Targets by digest cannot conflict, since
// equal digests mean equal content.
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

// Rename changes the names of the images of a directory to the names that n gives to their sources.
func (n Names) Rename(images []*Image) {
	for _, img := range images {
		if img.Catalog {
			img.Repository = n.flatten(img.Repository)
		} else if ref, err := image.ParseReference(img.Source); err == nil {
			img.Repository = n.repository(ref.Context())
		}
	}
}
