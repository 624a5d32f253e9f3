package bundle

import (
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// MigrateToCSVMetadata is the migration that opm calls bundle-object-to-csv-metadata: it drops the manifests that the
// bundle carries as properties of type olm.bundle.object and appends one property of type olm.csv.metadata in their
// place. Registries then fetch the manifests from the image. It reports whether it did.
//
// A bundle stays as it is if it has no image, if it has CSV metadata already or if no manifest is a
// ClusterServiceVersion. So it does with an error, which comes of a manifest before the first ClusterServiceVersion
// that cannot be decoded, or of that by [CSVMetadata].
func MigrateToCSVMetadata(b *declcfg.Bundle) (changed bool, err error) {
	if b.Image == "" || slices.ContainsFunc(b.Properties, isCSVMetadata) {
		return false, nil
	}
	csv, err := b.ManifestCSV()
	if csv == nil || err != nil {
		return false, err
	}
	metadata, err := CSVMetadata(csv)
	if err != nil {
		return false, err
	}
	property, err := declcfg.NewProperty(declcfg.PropertyCSVMetadata, metadata)
	if err != nil {
		return false, err
	}
	kept := slices.DeleteFunc(slices.Clone(b.Properties), isBundleObject)
	b.Properties = append(kept, property)
	return true, nil
}

func isCSVMetadata(p declcfg.Property) bool { return p.Type == declcfg.PropertyCSVMetadata }

func isBundleObject(p declcfg.Property) bool { return p.Type == declcfg.PropertyBundleObject }
