package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typedMetadata is [declcfg.CSVMetadata] with the types of a ClusterServiceVersion, as in opm. The encodings are equal.
type typedMetadata struct {
	Annotations           map[string]string                  `json:"annotations,omitempty"`
	APIServiceDefinitions v1alpha1.APIServiceDefinitions     `json:"apiServiceDefinitions"`
	CRDDescriptions       v1alpha1.CustomResourceDefinitions `json:"crdDescriptions"`
	Description           string                             `json:"description,omitempty"`
	DisplayName           string                             `json:"displayName,omitempty"`
	InstallModes          []v1alpha1.InstallMode             `json:"installModes,omitempty"`
	Keywords              []string                           `json:"keywords,omitempty"`
	Labels                map[string]string                  `json:"labels,omitempty"`
	Links                 []v1alpha1.AppLink                 `json:"links,omitempty"`
	Maintainers           []v1alpha1.Maintainer              `json:"maintainers,omitempty"`
	Maturity              string                             `json:"maturity,omitempty"`
	MinKubeVersion        string                             `json:"minKubeVersion,omitempty"`
	NativeAPIs            []metav1.GroupVersionKind          `json:"nativeAPIs,omitempty"`
	Provider              v1alpha1.AppLink                   `json:"provider"`
}

// parseCSVMetadata returns the metadata of a ClusterServiceVersion, given in JSON, for a catalog. As in opm, a value
// that does not match the typed API of OLM is an error, and unknown keys are dropped. Versions may be written as v1 or
// 1.2.
func parseCSVMetadata(csv []byte) (*typedMetadata, error) {
	sorted, err := sortKeys(csv)
	var typed *v1alpha1.ClusterServiceVersion
	if err == nil {
		typed, _, err = decodeCSV(sorted)
	}
	if err != nil {
		return nil, fmt.Errorf("decode ClusterServiceVersion: %w", err)
	}
	spec := &typed.Spec
	return &typedMetadata{
		Annotations:           typed.Annotations,
		APIServiceDefinitions: spec.APIServiceDefinitions,
		CRDDescriptions:       spec.CustomResourceDefinitions,
		Description:           spec.Description,
		DisplayName:           spec.DisplayName,
		InstallModes:          spec.InstallModes,
		Keywords:              spec.Keywords,
		Labels:                typed.Labels,
		Links:                 spec.Links,
		Maintainers:           spec.Maintainers,
		Maturity:              spec.Maturity,
		MinKubeVersion:        spec.MinKubeVersion,
		NativeAPIs:            spec.NativeAPIs,
		Provider:              spec.Provider,
	}, nil
}

// decodeCSV decodes a ClusterServiceVersion, whose keys are sorted, into the typed API of OLM. If it fails, ptr leads
// to the value.
func decodeCSV(sorted jsontext.Value) (csv *v1alpha1.ClusterServiceVersion, ptr jsontext.Pointer, err error) {
	csv = new(v1alpha1.ClusterServiceVersion)
	ptr, err = decode(sorted, csv)
	return csv, ptr, err
}

// sortKeys returns a manifest in the form that opm uses: the keys sorted at every level, and the last of several equal
// keys. The order determines the raw values of descriptors, and the used key if several differ only in letter case.
func sortKeys(manifest []byte) ([]byte, error) {
	sorted := jsontext.Value(bytes.Clone(manifest))
	err := sorted.Format(jsontext.ReorderRawObjects(true), jsontext.AllowInvalidUTF8(true),
		jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return keepLast(manifest)
	}
	return sorted, err
}

// keepLast is sortKeys for manifests with duplicate keys; it is slower.
func keepLast(manifest []byte) ([]byte, error) {
	if err := json.Unmarshal(manifest, new(json.RawMessage)); err != nil {
		return nil, err // the decoder does not read past the first value
	}
	decoder := json.NewDecoder(bytes.NewReader(manifest))
	decoder.UseNumber() // numbers keep their digits
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
