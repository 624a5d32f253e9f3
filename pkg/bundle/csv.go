package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// parseCSVMetadata returns the metadata of a ClusterServiceVersion, given in JSON, for a catalog. As in opm, a value
// that does not match the typed API of OLM is an error, and unknown keys are dropped. Versions may be written as v1 or
// 1.2.
func parseCSVMetadata(csv []byte) (*declcfg.CSVMetadata, error) {
	sorted, err := sortKeys(csv)
	var typed *v1alpha1.ClusterServiceVersion
	if err == nil {
		typed, _, err = decodeCSV(sorted)
	}
	if err != nil {
		return nil, fmt.Errorf("decode ClusterServiceVersion: %w", err)
	}
	spec := &typed.Spec
	return &declcfg.CSVMetadata{
		Annotations: typed.Annotations,
		APIServiceDefinitions: declcfg.APIServiceDefinitions{
			Owned:    each(spec.APIServiceDefinitions.Owned, apiService),
			Required: each(spec.APIServiceDefinitions.Required, apiService),
		},
		CRDDescriptions: crds(spec.CustomResourceDefinitions),
		Description:     spec.Description,
		DisplayName:     spec.DisplayName,
		InstallModes:    each(spec.InstallModes, installMode),
		Keywords:        spec.Keywords,
		Labels:          typed.Labels,
		Links:           each(spec.Links, appLink),
		Maintainers:     each(spec.Maintainers, maintainer),
		Maturity:        spec.Maturity,
		MinKubeVersion:  spec.MinKubeVersion,
		NativeAPIs:      each(spec.NativeAPIs, groupVersionKind),
		Provider:        appLink(spec.Provider),
	}, nil
}

// decodeCSV decodes a ClusterServiceVersion, whose keys are sorted, into the typed API of OLM. If it fails, ptr leads
// to the value.
func decodeCSV(sorted jsontext.Value) (csv *v1alpha1.ClusterServiceVersion, ptr jsontext.Pointer, err error) {
	csv = new(v1alpha1.ClusterServiceVersion)
	ptr, err = decode(sorted, csv)
	return csv, ptr, err
}

func each[From, To any](list []From, convert func(From) To) []To {
	var converted []To
	for _, from := range list {
		converted = append(converted, convert(from))
	}
	return converted
}

func installMode(m v1alpha1.InstallMode) declcfg.InstallMode {
	return declcfg.InstallMode{Type: string(m.Type), Supported: m.Supported}
}

func appLink(l v1alpha1.AppLink) declcfg.AppLink { return declcfg.AppLink(l) }

func maintainer(m v1alpha1.Maintainer) declcfg.Maintainer { return declcfg.Maintainer(m) }

func groupVersionKind(k metav1.GroupVersionKind) declcfg.GroupVersionKind {
	return declcfg.GroupVersionKind(k)
}

func apiService(d v1alpha1.APIServiceDescription) declcfg.APIServiceDescription {
	return declcfg.APIServiceDescription{
		Name:              d.Name,
		Group:             d.Group,
		Version:           d.Version,
		Kind:              d.Kind,
		DeploymentName:    d.DeploymentName,
		ContainerPort:     d.ContainerPort,
		DisplayName:       d.DisplayName,
		Description:       d.Description,
		Resources:         each(d.Resources, resource),
		StatusDescriptors: each(d.StatusDescriptors, descriptor),
		SpecDescriptors:   each(d.SpecDescriptors, descriptor),
		ActionDescriptors: each(d.ActionDescriptor, descriptor),
	}
}

func crds(d v1alpha1.CustomResourceDefinitions) declcfg.CRDDescriptions {
	return declcfg.CRDDescriptions{Owned: each(d.Owned, crd), Required: each(d.Required, crd)}
}

func crd(d v1alpha1.CRDDescription) declcfg.CRDDescription {
	return declcfg.CRDDescription{
		Name:              d.Name,
		Version:           d.Version,
		Kind:              d.Kind,
		DisplayName:       d.DisplayName,
		Description:       d.Description,
		Resources:         each(d.Resources, resource),
		StatusDescriptors: each(d.StatusDescriptors, descriptor),
		SpecDescriptors:   each(d.SpecDescriptors, descriptor),
		ActionDescriptors: each(d.ActionDescriptor, descriptor),
	}
}

func resource(r v1alpha1.APIResourceReference) declcfg.ResourceReference {
	return declcfg.ResourceReference(r)
}

// descriptor converts a descriptor. The three types have the same fields.
func descriptor[D v1alpha1.StatusDescriptor | v1alpha1.SpecDescriptor | v1alpha1.ActionDescriptor](
	d D,
) declcfg.Descriptor {
	s := v1alpha1.SpecDescriptor(d)
	return declcfg.Descriptor{
		Path:         s.Path,
		DisplayName:  s.DisplayName,
		Description:  s.Description,
		XDescriptors: s.XDescriptors,
		Value:        jsontext.Value(s.Value),
	}
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
