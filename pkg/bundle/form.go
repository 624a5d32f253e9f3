package bundle

import (
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// ErrNoManifests is returned for a bundle whose manifests are in its image only.
var ErrNoManifests = errors.New("the bundle holds no manifests")

// ErrNoImage is returned for a bundle whose manifests could not be fetched if it did not hold them.
var ErrNoImage = errors.New("the bundle has no image")

// ToObjects brings b into the form in which it holds its manifests, as properties of type olm.bundle.object, and no
// olm.csv.metadata. The error is [ErrNoManifests] where b does not hold a
// ClusterServiceVersion, which nothing but its image has then, or that of a manifest that cannot be decoded; b stays as
// it is.
func ToObjects(b *declcfg.Bundle) error {
	csv, err := b.ManifestCSV()
	if err != nil {
		return err
	}
	if csv == nil {
		return ErrNoManifests
	}
	b.Properties = slices.DeleteFunc(slices.Clone(b.Properties), isCSVMetadata)
	return nil
}

// ToMetadata brings b into the form in which it holds what users see of it, as a property of type olm.csv.metadata, and
// its manifests are fetched from its image. Unlike [MigrateToCSVMetadata] it fails where that cannot be: with
// [ErrNoImage], with [ErrNoManifests], or with the error of a manifest. Then b stays as it is.
func ToMetadata(b *declcfg.Bundle) error {
	if b.Image == "" {
		return ErrNoImage
	}
	if slices.ContainsFunc(b.Properties, isCSVMetadata) {
		b.Properties = slices.DeleteFunc(slices.Clone(b.Properties), isBundleObject)
		return nil
	}
	changed, err := MigrateToCSVMetadata(b)
	if err == nil && !changed {
		return ErrNoManifests
	}
	return err
}
