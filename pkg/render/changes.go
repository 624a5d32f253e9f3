package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Changes are made to every rendered bundle, including those of catalogs. The zero value makes only the changes that
// rendering always makes.
type Changes struct {
	Migration Migration // "" is MigrateNone
	Form      Form      // of the manifests, after the migration; "" keeps it
	Rewrites  []Rewrite // of images; the first that matches an image applies
}

// Edit makes the changes: it rewrites images, moves properties with manifests or their metadata behind the others,
// sorts related images by image, and converts manifests to the form.
//
// After an error, b may be partly changed.
func (c Changes) Edit(b *declcfg.Bundle) error {
	c.rewrite(b)
	slices.SortStableFunc(b.Properties, func(p, q declcfg.Property) int { return cmp.Compare(bulk(p), bulk(q)) })
	bundle.SortRelatedImages(b.RelatedImages)
	if c.migrates() {
		if _, err := bundle.MigrateToCSVMetadata(b); err != nil {
			return fmt.Errorf("migrate bundle %q to %s: %w", b.Name, lastMigration, err)
		}
	}
	if err := c.Form.convert(b); err != nil {
		return fmt.Errorf("convert bundle %q to the form %s: %w", b.Name, c.Form, err)
	}
	return nil
}

// ofReused returns the changes to a bundle that was rendered before with the same rewrites.
func (c Changes) ofReused() Changes {
	c.Rewrites = nil
	return c
}

// bulk is 1 for properties that are written last.
func bulk(p declcfg.Property) int {
	if p.Type == declcfg.PropertyBundleObject || p.Type == declcfg.PropertyCSVMetadata {
		return 1
	}
	return 0
}

// mayFail reports whether Edit can fail for a bundle that was read.
func (c Changes) mayFail() bool { return c.migrates() || c.Form != "" }

func (c Changes) migrates() bool { return c.Migration != MigrateNone && c.Migration != "" }
