package reference

import (
	"strings"

	"github.com/distribution/reference"

	"github.com/opm-toolchain/opm/internal/legible"
)

// CheckImage returns an error unless text is a valid reference to an image as upstream parses it, which accepts more
// than registries do: names without a registry, and no tag. It reports whether the reference has a digest.
func CheckImage(text string) (hasDigest bool, err error) {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return false, legible.ExplainWhiteSpace(err, text, "")
	}
	_, hasDigest = named.(reference.Digested)
	return hasDigest, nil
}

// WithoutTransport returns a reference to an image without the transport docker://, which skopeo and oc-mirror write
// before references to images in registries.
func WithoutTransport(image string) string { return strings.TrimPrefix(image, "docker://") }
