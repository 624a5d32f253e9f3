package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// maxNesting is the maximum depth of nested indexes.
	maxNesting = 4
	// maxIndexes is the maximum number of indexes read for one image.
	maxIndexes = 32
)

// The annotations of attestations, which builders store next to images.
const (
	attestation    = "vnd.docker.reference.type"
	attestedDigest = "vnd.docker.reference.digest" // of the image that it attests
)

// ErrPlatform is wrapped by the error for an image that is not for the requested platform.
var ErrPlatform = errors.New("other platform")

// A platformError is the text of an error that wraps ErrPlatform.
type platformError string

func (e platformError) Error() string { return string(e) }

func (e platformError) Is(target error) bool { return target == ErrPlatform }

// parsePlatform parses os/arch or os/arch/variant; "" means linux and the architecture of this program.
func parsePlatform(text string) (v1.Platform, error) {
	if text == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, nil
	}
	if err := CheckPlatforms(text); err != nil {
		return v1.Platform{}, err
	}
	p, err := v1.ParsePlatform(text)
	if err != nil {
		return v1.Platform{}, err
	}
	return *p, nil
}

// CheckPlatforms returns an error for the first text that is not os/arch or os/arch/variant.
func CheckPlatforms(platforms ...string) error {
	for _, text := range platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil || p.OS == "" || p.Architecture == "" {
			return fmt.Errorf("platform %q: want os/arch or os/arch/variant, such as linux/arm64", text)
		}
	}
	return nil
}

// CheckPlatform returns an error if the image is not for this platform, which Open checks only for images in an
// index.
func (i *Image) CheckPlatform(platform string) error {
	want, err := parsePlatform(platform)
	if err != nil {
		return err
	}
	have, err := parsePlatform(i.Platform)
	if err != nil || !satisfies(have, want) {
		return platformError(fmt.Sprintf("it is for %s, not for %s", printable(i.Platform), want))
	}
	return nil
}

// satisfies reports whether an image for platform have runs on platform want. If want has no variant, any will do. If
// have has no variant, the default of its architecture applies, see
// https://github.com/opencontainers/image-spec/blob/main/image-index.md#platform-variants.
func satisfies(have, want v1.Platform) bool {
	implied := map[string]string{"arm": "v7", "arm64": "v8", "amd64": "v1"}
	have.Variant = cmp.Or(have.Variant, implied[have.Architecture])
	return have.Satisfies(want)
}

// A chooser finds the manifest for a platform in an index.
type chooser struct {
	source  source
	want    v1.Platform
	read    int      // number of indexes read
	offered []string // the available platforms
}

// A choice is an image manifest and its digest.
type choice struct {
	*manifest
	digest v1.Hash
}

// choose returns the manifest for the platform from an index m, or m itself if it is not an index.
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
	return choice{}, platformError(fmt.Sprintf("no image for %s, only for %s: choose one as the platform", want,
		strings.Join(slices.Compact(c.offered), ", ")))
}

// search returns the first suitable manifest, or an empty choice. Descriptors with a platform come before
// descriptors without one, which may be for any platform.
func (c *chooser) search(ctx context.Context, m *manifest, digest v1.Hash, depth int) (choice, error) {
	if m.Manifests == nil {
		return choice{m, digest}, nil
	}
	if c.read++; c.read > maxIndexes || depth > maxNesting {
		return choice{}, limitError("indexes in indexes, more than %d or %d deep", maxIndexes, maxNesting)
	}
	var plain []v1.Descriptor
	var images int // in plain
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

// enter reads the manifest or index of an index entry and searches it.
func (c *chooser) enter(ctx context.Context, desc v1.Descriptor, depth int) (choice, error) {
	if !desc.MediaType.IsImage() && !desc.MediaType.IsIndex() {
		return choice{}, nil // an artifact, not an image
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

// isAttestation reports whether desc describes an attestation rather than an image. Buildkit gives it an unknown
// platform.
func isAttestation(desc v1.Descriptor) bool {
	if desc.Annotations[attestation] != "" {
		return true
	}
	p := desc.Platform
	return p != nil && p.OS == "unknown" && p.Architecture == "unknown"
}
