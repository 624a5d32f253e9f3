package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Names maps source repositories to repositories of the mirror. The zero value drops the registry.
type Names struct {
	KeepHosts     bool // paths begin with the host of the source, such as quay.io or localhost-5000
	MaxComponents int  // maximum number of components of a path; 0 for no limit. The last ones are joined with dashes
	Above         int  // number of components of the path of the mirror, which count; less than MaxComponents
}

// repository returns the path of a source repository in the mirror.
func (n Names) repository(source name.Repository) string {
	path := source.RepositoryStr()
	if n.KeepHosts {
		path = strings.ReplaceAll(source.RegistryStr(), ":", "-") + "/" + path
	}
	return n.flatten(path)
}

// flatten joins the last components of a path if it has, below the path of the mirror, more than MaxComponents.
func (n Names) flatten(path string) string {
	parts := strings.Split(path, "/")
	if most := n.MaxComponents - n.Above; n.MaxComponents > 0 && len(parts) > most {
		parts = append(parts[:most-1:most-1], strings.Join(parts[most-1:], "-"))
	}
	return strings.Join(parts, "/")
}

// parse parses the reference to an image. As container runtimes and oc-mirror do, it takes a short name for an image on
// Docker Hub, see [image.OnDockerHub], and ignores the transport docker://.
func parse(source string) (name.Reference, error) {
	text := reference.WithoutTransport(source)
	ref, err := image.ParseReference(cmp.Or(image.OnDockerHub(text), text))
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", source, err)
	}
	return ref, nil
}

// New returns the image for a reference, which may be a short name of Docker Hub. An image whose reference has no tag
// is mirrored by digest.
func (n Names) New(source string, uses ...Use) (*Image, error) {
	ref, err := parse(source)
	if err != nil {
		return nil, err
	}
	img := &Image{Source: source, Repository: n.repository(ref.Context()), Uses: uses, from: ref}
	switch ref := ref.(type) {
	case name.Tag:
		img.Tag = ref.TagStr()
	case name.Digest:
		img.Digest = ref.DigestStr()
	}
	return img, nil
}

// Rename changes the repository and the tag of an image in the mirror. An empty name leaves that part as it is.
func (n Names) Rename(img *Image, repo, tag string) error {
	if repo != "" {
		img.Repository, img.Renamed = n.flatten(repo), true
	}
	img.Tag = cmp.Or(tag, img.Tag)
	if _, err := image.ParseReference("mirror.example/" + img.Repository + ":" + cmp.Or(img.Tag, "latest")); err != nil {
		return fmt.Errorf("%q is not a valid name in the mirror: %w", img.Repository+":"+img.Tag, err)
	}
	return nil
}

// FailedImage returns the image for a reference that cannot be mirrored. It has no repository, and the reason is its
// Failure.
func FailedImage(source string, reason error, uses ...Use) *Image {
	return &Image{Source: source, Uses: uses, Failure: reason.Error()}
}

// checkNames returns an error for each tag that would refer to two things in the mirror: to two images or, if these are
// resolved, to an image, a signature, an attestation or the index of referrers that registries without an API for them
// have. Targets by digest cannot conflict, since equal digests mean equal content.
func checkNames(images []*Image) error {
	var conflicts []string
	claims := map[string]claim{} // by target
	for _, img := range images {
		for tag, c := range img.claims() {
			target := img.Repository + ":" + tag
			if other, ok := claims[target]; !ok {
				claims[target] = c
			} else if other.content != c.content || other.isImage() && c.isImage() {
				conflicts = append(conflicts, fmt.Sprintf("%s and %s would both be %s in the mirror: "+
					"choose other names with --keep-hosts, --max-components or --catalog-image, or with targetTag or targetRepo in "+
					"the configuration", other, c, target))
			}
		}
	}
	if conflicts == nil {
		return nil
	}
	slices.Sort(conflicts) // attached manifests are found in any order
	return errors.New(strings.Join(conflicts, "\n"))
}

// A claim is one thing that a tag in the mirror would refer to.
type claim struct {
	source  string
	noun    string // such as "signature"; "" for the image itself
	content string // equal for the same content
}

func (c claim) isImage() bool { return c.noun == "" }

func (c claim) String() string {
	if c.isImage() {
		return c.source
	}
	return "the " + c.noun + " of " + c.source
}

// claims yields the tags that the image and, if it is resolved, its attached manifests would have. A failed image has
// none.
func (i *Image) claims() iter.Seq2[string, claim] {
	return func(yield func(string, claim) bool) {
		if i.Failure != "" || i.Tag != "" && !yield(i.Tag, claim{i.Source, "", i.Digest}) {
			return
		}
		for _, n := range i.Manifests {
			for _, tag := range n.Tags {
				if !yield(tag, claim{i.Source, cmp.Or(cosignNouns[path.Ext(tag)], "artifact"), n.Digest.String()}) {
					return
				}
			}
			if subject, err := v1.NewHash(n.Subject); err == nil &&
				!yield(image.ReferrersTag(subject), claim{i.Source, "referrers", n.Subject}) {
				return
			}
		}
	}
}

// RenameAll changes the repositories of the images of a directory to the ones that n gives to their sources. Chosen
// repositories only change their depth.
func (n Names) RenameAll(images []*Image) {
	for _, img := range images {
		if img.Catalog || img.Renamed {
			img.Repository = n.flatten(img.Repository)
		} else if ref, err := parse(img.Source); err == nil {
			img.Repository = n.repository(ref.Context())
		}
	}
}
