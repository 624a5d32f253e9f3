package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Migration is a level that bundles are brought to, by all migrations up to and including the one of that name.
type Migration string

// The migrations, in their order. "" is MigrateNone.
const (
	MigrateNone          Migration = "none"
	MigrateToCSVMetadata Migration = "bundle-object-to-csv-metadata" // see [bundle.MigrateToCSVMetadata]
	MigrateAll           Migration = "all"
	lastMigration                  = MigrateToCSVMetadata
)

// Migrations returns the names of all, as the command line knows them.
func Migrations() []string {
	return []string{string(MigrateNone), string(MigrateToCSVMetadata), string(MigrateAll)}
}

// Edit does to a bundle what rendering does to every one, catalogs included: properties that hold manifests or their
// metadata move behind the others, related images are sorted by image, and the migrations of the level are made.
func (level Migration) Edit(b *declcfg.Bundle) error {
	slices.SortStableFunc(b.Properties, func(p, q declcfg.Property) int { return cmp.Compare(bulk(p), bulk(q)) })
	slices.SortStableFunc(b.RelatedImages, func(i, j declcfg.RelatedImage) int { return cmp.Compare(i.Image, j.Image) })
	if level == MigrateNone || level == "" {
		return nil
	}
	_, err := bundle.MigrateToCSVMetadata(b)
	return err
}

// bulk is 1 for properties that stand last.
func bulk(p declcfg.Property) int {
	if p.Type == declcfg.PropertyBundleObject || p.Type == declcfg.PropertyCSVMetadata {
		return 1
	}
	return 0
}

// check tells whether m can be written, so that nothing is written when one of many cannot.
func (level Migration) check(m *declcfg.Meta) error {
	v, err := m.Decode()
	if err != nil {
		return err
	}
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	if err := m.CheckManifests(b); err != nil {
		return err
	}
	if level == MigrateNone || level == "" {
		return nil
	}
	if err := level.Edit(b); err != nil {
		return &declcfg.Error{Pos: m.Pos, Err: fmt.Errorf("migrate bundle %q to %s: %w", b.Name, lastMigration, err)}
	}
	return nil
}
