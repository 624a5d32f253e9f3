package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Changes are made to every bundle that is rendered, those of catalogs included. The zero value makes only those that
// rendering always makes.
type Changes struct {
	Migration Migration // "" is MigrateNone
	Form      Form      // of the manifests, after the migration; "" leaves it
	Rewrites  []Rewrite // of images; the first that is about an image counts
}

// Edit makes the changes: images are rewritten, properties that hold manifests or their metadata move behind the
// others, related images are sorted by image, and manifests are brought into the form that is asked for.
//
// Where that cannot be, the error tells why, and b may have been changed in part.
func (c Changes) Edit(b *declcfg.Bundle) error {
	c.rewrite(b)
	slices.SortStableFunc(b.Properties, func(p, q declcfg.Property) int { return cmp.Compare(bulk(p), bulk(q)) })
	slices.SortStableFunc(b.RelatedImages, func(i, j declcfg.RelatedImage) int { return cmp.Compare(i.Image, j.Image) })
	if c.migrates() {
		if _, err := bundle.MigrateToCSVMetadata(b); err != nil {
			return fmt.Errorf("migrate bundle %q to %s: %w", b.Name, lastMigration, err)
		}
	}
	if err := c.Form.bring(b); err != nil {
		return fmt.Errorf("bring bundle %q into the form %s: %w", b.Name, c.Form, err)
	}
	return nil
}

// bulk is 1 for properties that stand last.
func bulk(p declcfg.Property) int {
	if p.Type == declcfg.PropertyBundleObject || p.Type == declcfg.PropertyCSVMetadata {
		return 1
	}
	return 0
}

func (c Changes) migrates() bool { return c.Migration != MigrateNone && c.Migration != "" }
