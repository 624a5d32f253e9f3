package declcfg

import (
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

// IsCSV reports whether a manifest, given in JSON, is a ClusterServiceVersion. As in opm its API version does not
// matter.
func IsCSV(manifest jsontext.Value) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(manifest, &head, document.Lenient) == nil && head.Kind == KindCSV
}

// readCSV returns what a ClusterServiceVersion says to people. It is empty if it cannot be read.
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

// Manifests yields the manifests that b carries as olm.bundle.object, in JSON, in the order of its properties. An error
// is about one that cannot be decoded.
func (b *Bundle) Manifests() iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		for i := range b.Properties {
			if b.Properties[i].Type != PropertyBundleObject {
				continue
			}
			manifest, err := b.Properties[i].manifest()
			if err != nil {
				err = fmt.Errorf("properties[%d]: %w", i, err)
			}
			if !yield(manifest, err) {
				return
			}
		}
	}
}

// ManifestCSV returns the first ClusterServiceVersion that b carries as olm.bundle.object, in JSON, nil for none. The
// error is about the first manifest before it that cannot be decoded.
func (b *Bundle) ManifestCSV() (csv jsontext.Value, failed error) {
	for manifest, err := range b.Manifests() {
		switch {
		case err == nil && IsCSV(manifest):
			return manifest, failed
		case err != nil && failed == nil:
			failed = err
		}
	}
	return nil, failed
}

func (p *Property) manifest() (jsontext.Value, error) {
	var object BundleObject
	if err := p.Unmarshal(&object); err != nil {
		return nil, err
	}
	return object.JSON()
}

// CSVMetadata returns what the ClusterServiceVersion of b says to people, whether b has it as olm.csv.metadata or among
// its manifests. It is empty where b has neither, or it cannot be read.
func (b *Bundle) CSVMetadata() *CSVMetadata {
	for i := range b.Properties {
		p, m := &b.Properties[i], new(CSVMetadata)
		if p.Type == PropertyCSVMetadata && p.Unmarshal(m) == nil {
			return m
		}
	}
	csv, _ := b.ManifestCSV() // nil is not readable
	return readCSV(csv)
}

// ManifestDisplayName returns the display name in the ClusterServiceVersion that b carries as olm.bundle.object, or "".
// The display name in olm.csv.metadata is ignored, as in upstream's lists.
func (b *Bundle) ManifestDisplayName() string {
	csv, _ := b.ManifestCSV()
	return readCSV(csv).DisplayName
}

// ManifestIcon returns the first icon in the ClusterServiceVersion that b carries as olm.bundle.object, or nil.
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
