package bundle

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
	csv, err := findCSV(b.Properties)
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

// findCSV returns the first ClusterServiceVersion among bundle objects, as JSON, or nil.
func findCSV(properties []declcfg.Property) (jsontext.Value, error) {
	for i := range properties {
		if !isBundleObject(properties[i]) {
			continue
		}
		manifest, err := decodeManifest(&properties[i])
		if err != nil {
			return nil, fmt.Errorf("properties[%d]: %w", i, err)
		}
		if isCSV(manifest) {
			return manifest, nil
		}
	}
	return nil, nil
}

func decodeManifest(p *declcfg.Property) (jsontext.Value, error) {
	var object declcfg.BundleObject
	if err := p.Unmarshal(&object); err != nil {
		return nil, err
	}
	return object.JSON()
}

// isCSV looks at the kind alone: opm takes any API version. What has no kind or one that is not text is no manifest.
func isCSV(manifest jsontext.Value) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(manifest, &head, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return err == nil && head.Kind == "ClusterServiceVersion"
}
