package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Rewrite writes images of one place as those of another, so that a catalog can be made of images that are not yet
// where it will look for them. Tags and digests stay as they are.
type Rewrite struct {
	Old, New string // a registry, with folders or a repository behind it: quay.io/staging
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

// apply returns the reference in its new place. Only whole parts of a path count: quay.io/a is not about quay.io/ab.
func (r Rewrite) apply(ref string) (string, bool) {
	rest, ok := strings.CutPrefix(ref, r.Old)
	if !ok || rest != "" && !strings.ContainsRune("/:@", rune(rest[0])) {
		return ref, false
	}
	return r.New + rest, true
}

// image returns how an image is written.
func (c Changes) image(ref string) string {
	for _, r := range c.Rewrites {
		if to, ok := r.apply(ref); ok {
			return to
		}
	}
	return ref
}

// rewrite rewrites the image of b and those that it is related to, of which its own is one, once.
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
	// Where the author of a bundle has listed it in its new place, the entry that reading it has added is too many.
	b.RelatedImages = slices.DeleteFunc(b.RelatedImages, func(r declcfg.RelatedImage) bool {
		if own < 2 || r.Name != "" || r.Image != b.Image {
			return false
		}
		own--
		return true
	})
}
