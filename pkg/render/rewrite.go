package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Rewrite replaces the registry or repository of images, to render a catalog from images before they are published.
// Tags and digests are kept.
type Rewrite struct {
	Old, New string // a registry, optionally with a path: quay.io/staging
}

// ParseRewrite reads OLD=NEW.
func ParseRewrite(text string) (Rewrite, error) {
	from, to, ok := strings.Cut(text, "=")
	r := Rewrite{Old: strings.TrimSuffix(from, "/"), New: strings.TrimSuffix(to, "/")}
	if !ok || r.Old == "" || r.New == "" || strings.Contains(text, "://") {
		return Rewrite{}, fmt.Errorf("%q: want OLD=NEW, such as quay.io/staging=quay.io/prod", text)
	}
	return r, nil
}

// image returns the rewritten reference of an image. Only whole path elements match: quay.io/a does not match
// quay.io/ab.
func (c Changes) image(ref string) string {
	for _, r := range c.Rewrites {
		rest, ok := strings.CutPrefix(ref, r.Old)
		if ok && (rest == "" || strings.ContainsRune("/:@", rune(rest[0]))) {
			return r.New + rest
		}
	}
	return ref
}

// rewrite rewrites the image and the related images of b. One related image is kept for its own image.
func (c Changes) rewrite(b *declcfg.Bundle) {
	if len(c.Rewrites) == 0 {
		return
	}
	b.Image = c.image(b.Image)
	own := 0
	for i := range b.RelatedImages {
		b.RelatedImages[i].Image = c.image(b.RelatedImages[i].Image)
		if b.RelatedImages[i].Image == b.Image {
			own++
		}
	}
	// If the author already listed the new image, the unnamed entry added when reading the bundle is a duplicate.
	b.RelatedImages = slices.DeleteFunc(b.RelatedImages, func(r declcfg.RelatedImage) bool {
		if own < 2 || r.Name != "" || r.Image != b.Image {
			return false
		}
		own--
		return true
	})
}
