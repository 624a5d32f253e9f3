package image

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// maxNesting is how deep indexes may be nested.
	maxNesting = 4
	// maxIndexes is how many indexes of one image are read.
	maxIndexes = 32
)

// attestation is the annotation of attestations, which builders store next to images.
const attestation = "vnd.docker.reference.type"

// parsePlatform reads os/arch or os/arch/variant; the empty text is linux and the architecture of this program.
func parsePlatform(text string) (v1.Platform, error) {
	if text == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, nil
	}
	p, err := v1.ParsePlatform(text)
	if err != nil || p.OS == "" || p.Architecture == "" {
		return v1.Platform{}, fmt.Errorf("platform %q: want os/arch or os/arch/variant, such as linux/arm64", text)
	}
	return *p, nil
}

// CheckPlatform returns an error if the image is not for a platform, as an image that is in no index may be.
func (i *Image) CheckPlatform(platform string) error {
	want, err := parsePlatform(platform)
	if err != nil {
		return err
	}
	have, err := parsePlatform(i.Platform)
	if err != nil || !satisfies(have, want) {
		return fmt.Errorf("it is for %s, not for %s", printable(i.Platform), want)
	}
	return nil
}

// satisfies reports whether an image for have runs where want is asked for. Without a variant, any will do; one that
// have does not say is what its architecture implies, see
// https://github.com/opencontainers/image-spec/blob/main/image-index.md#platform-variants.
func satisfies(have, want v1.Platform) bool {
	implied := map[string]string{"arm": "v7", "arm64": "v8", "amd64": "v1"}
	have.Variant = cmp.Or(have.Variant, implied[have.Architecture])
	return have.Satisfies(want)
}

// A chooser finds the manifest for a platform in an index.
type chooser struct {
	source  source
	limits  Limits
	want    v1.Platform
	read    int      // indexes so far
	offered []string // the platforms that there are
}

// A choice is a manifest of an image and its digest.
type choice struct {
	*manifest
	digest v1.Hash
}

// choose returns the manifest of m for the platform, which is m itself unless it is an index.
func (c *chooser) choose(ctx context.Context, m *manifest, digest v1.Hash) (choice, error) {
	found, err := c.search(ctx, m, digest, 0)
	if err != nil || found.manifest != nil {
		return found, err
	}
	want := c.want.String()
	if len(c.offered) == 0 {
		return choice{}, fmt.Errorf("no image for %s: the index is empty", want)
	}
	slices.Sort(c.offered)
	return choice{}, fmt.Errorf("no image for %s, only for %s: choose one as the platform", want,
		strings.Join(slices.Compact(c.offered), ", "))
}

// search returns the first manifest that suits, or an empty choice. Those with a platform come before those that do not
// say theirs, which may be anything.
func (c *chooser) search(ctx context.Context, m *manifest, digest v1.Hash, depth int) (choice, error) {
	if !m.isIndex() {
		return choice{m, digest}, nil
	}
	if c.read++; c.read > maxIndexes || depth > maxNesting {
		return choice{}, limitError("indexes in indexes, more than %d or %d deep", maxIndexes, maxNesting)
	}
	var plain []v1.Descriptor
	var images int // among them
	for _, desc := range m.Manifests {
		switch {
		case isAttestation(desc):
		case desc.Platform == nil || desc.Platform.OS == "" && desc.Platform.Architecture == "":
			plain = append(plain, desc)
			if desc.MediaType.IsImage() {
				images++
			}
		case !satisfies(*desc.Platform, c.want):
			c.offered = append(c.offered, printable(desc.Platform.String()))
		default:
			if found, err := c.enter(ctx, desc, depth); err != nil || found.manifest != nil {
				return found, err
			}
		}
	}
	for _, desc := range plain {
		if desc.MediaType.IsImage() && images > 1 {
			c.offered = append(c.offered, "one that is not named ("+desc.Digest.String()+")")
			continue
		}
		if found, err := c.enter(ctx, desc, depth); err != nil || found.manifest != nil {
			return found, err
		}
	}
	return choice{}, nil
}

// enter reads what an entry of an index describes.
func (c *chooser) enter(ctx context.Context, desc v1.Descriptor, depth int) (choice, error) {
	if !desc.MediaType.IsImage() && !desc.MediaType.IsIndex() {
		return choice{}, nil // an artifact
	}
	raw, err := c.source.document(ctx, desc)
	if err != nil {
		return choice{}, err
	}
	m, err := parseManifest(raw, desc.MediaType)
	if err != nil {
		return choice{}, fmt.Errorf("%s: %w", desc.Digest, err)
	}
	return c.search(ctx, m, desc.Digest, depth+1)
}

// isAttestation reports whether desc is about an image, rather than one. Buildkit gives such an unknown platform.
func isAttestation(desc v1.Descriptor) bool {
	if desc.Annotations[attestation] != "" {
		return true
	}
	p := desc.Platform
	return p != nil && p.OS == "unknown" && p.Architecture == "unknown"
}
