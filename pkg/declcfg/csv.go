package declcfg

import (
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
)

// Kinds of manifests.
const (
	KindCSV = "ClusterServiceVersion"
	KindCRD = "CustomResourceDefinition"
)

// IsCSV reports whether a manifest in JSON is a ClusterServiceVersion, of any API version, as upstream does.
func IsCSV(manifest jsontext.Value) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(manifest, &head, document.Lenient) == nil && head.Kind == KindCSV
}

// readCSV returns the metadata in a ClusterServiceVersion. It is empty if the manifest cannot be decoded.
func readCSV(manifest jsontext.Value) *CSVMetadata {
	var csv struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
			Labels      map[string]string `json:"labels"`
		} `json:"metadata"`
		Spec struct {
			CSVMetadata
			APIs APIServiceDefinitions `json:"apiservicedefinitions"`
			CRDs CRDDescriptions       `json:"customresourcedefinitions"`
		} `json:"spec"`
	}
	if json.Unmarshal(manifest, &csv, document.Lenient, json.MatchCaseInsensitiveNames(true)) != nil {
		return &CSVMetadata{}
	}
	m := csv.Spec.CSVMetadata
	m.Annotations, m.Labels = csv.Metadata.Annotations, csv.Metadata.Labels
	m.APIServiceDefinitions, m.CRDDescriptions = csv.Spec.APIs, csv.Spec.CRDs
	return &m
}

// Manifests yields the manifests in the olm.bundle.object properties of b, in JSON and in their order. An error is
// about a manifest that cannot be decoded.
func (b *Bundle) Manifests() iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		for i := range b.Properties {
			if b.Properties[i].Type != PropertyBundleObject {
				continue
			}
			var object BundleObject
			var manifest jsontext.Value
			err := b.Properties[i].Unmarshal(&object)
			if err == nil {
				manifest, err = object.JSON()
			}
			if err != nil {
				err = fmt.Errorf("properties[%d]: %w", i, err)
			}
			if !yield(manifest, err) {
				return
			}
		}
	}
}

// ManifestCSV returns the first ClusterServiceVersion in the olm.bundle.object properties of b, in JSON, or nil. The
// error is about the first manifest before it that cannot be decoded and for which upstream rejects the catalog.
func (b *Bundle) ManifestCSV() (csv jsontext.Value, failed error) {
	for manifest, err := range b.Manifests() {
		switch {
		case err == nil && IsCSV(manifest):
			return manifest, failed
		case err != nil && failed == nil && !errors.Is(err, ErrBrokenManifest):
			failed = err
		}
	}
	return nil, failed
}

// CSVMetadata returns the metadata of the ClusterServiceVersion of b, from the property olm.csv.metadata or else from
// its manifests. It is empty if b has neither, or if it cannot be decoded.
func (b *Bundle) CSVMetadata() *CSVMetadata {
	for i := range b.Properties {
		p, m := &b.Properties[i], new(CSVMetadata)
		if p.Type == PropertyCSVMetadata && p.Unmarshal(m) == nil {
			return m
		}
	}
	csv, _ := b.ManifestCSV() // nil is read as an empty CSVMetadata
	return readCSV(csv)
}

// ManifestDisplayName returns the display name in the ClusterServiceVersion of [Bundle.ManifestCSV], or "". The display
// name in olm.csv.metadata is ignored, as in upstream's lists.
func (b *Bundle) ManifestDisplayName() string {
	csv, _ := b.ManifestCSV()
	return readCSV(csv).DisplayName
}

// ManifestIcon returns the first icon in the ClusterServiceVersion of [Bundle.ManifestCSV], or nil.
func (b *Bundle) ManifestIcon() *Icon {
	csv, _ := b.ManifestCSV()
	var icons struct {
		Spec struct {
			Icon []Icon `json:"icon"`
		} `json:"spec"`
	}
	err := json.Unmarshal(csv, &icons, document.Lenient, json.MatchCaseInsensitiveNames(true))
	if err != nil || len(icons.Spec.Icon) == 0 {
		return nil
	}
	icon := icons.Spec.Icon[0]
	return &Icon{Data: icon.Data, MediaType: icon.MediaType}
}
