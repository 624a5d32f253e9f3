package store_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A metadata is olm.csv.metadata in the types of ClusterServiceVersions.
type metadata struct {
	Annotations               map[string]string                  `json:"annotations"`
	APIServiceDefinitions     v1alpha1.APIServiceDefinitions     `json:"apiServiceDefinitions"`
	CustomResourceDefinitions v1alpha1.CustomResourceDefinitions `json:"crdDescriptions"`
	Description               string                             `json:"description"`
	DisplayName               string                             `json:"displayName"`
	InstallModes              []v1alpha1.InstallMode             `json:"installModes"`
	Keywords                  []string                           `json:"keywords"`
	Labels                    map[string]string                  `json:"labels"`
	Links                     []v1alpha1.AppLink                 `json:"links"`
	Maintainers               []v1alpha1.Maintainer              `json:"maintainers"`
	Maturity                  string                             `json:"maturity"`
	MinKubeVersion            string                             `json:"minKubeVersion"`
	NativeAPIs                []metav1.GroupVersionKind          `json:"nativeAPIs"`
	Provider                  v1alpha1.AppLink                   `json:"provider"`
}

// clusterServiceVersion makes a ClusterServiceVersion out of metadata, in the types of operator-framework/api.
func clusterServiceVersion(t *testing.T, p *declcfg.Package, b *declcfg.Bundle, value []byte) string {
	t.Helper()
	var m metadata
	if err := json.Unmarshal(normal(t, value), &m); err != nil {
		t.Fatal(err)
	}
	v, err := b.Version()
	if err != nil {
		t.Fatal(err)
	}
	csv := v1alpha1.ClusterServiceVersion{
		TypeMeta:   metav1.TypeMeta{Kind: "ClusterServiceVersion", APIVersion: "operators.coreos.com/v1alpha1"},
		ObjectMeta: metav1.ObjectMeta{Name: b.Name, Annotations: m.Annotations, Labels: m.Labels},
		Spec: v1alpha1.ClusterServiceVersionSpec{
			InstallStrategy:           v1alpha1.NamedInstallStrategy{StrategyName: "deployment"},
			Version:                   version.OperatorVersion{Version: v.Semver},
			CustomResourceDefinitions: m.CustomResourceDefinitions, APIServiceDefinitions: m.APIServiceDefinitions,
			NativeAPIs: m.NativeAPIs, MinKubeVersion: m.MinKubeVersion, DisplayName: m.DisplayName,
			Description: m.Description, Keywords: m.Keywords, Maintainers: m.Maintainers, Provider: m.Provider, Links: m.Links,
			InstallModes: m.InstallModes, Maturity: m.Maturity,
		},
	}
	if p.Icon != nil {
		icon := v1alpha1.Icon{Data: base64.StdEncoding.EncodeToString(p.Icon.Data), MediaType: p.Icon.MediaType}
		csv.Spec.Icon = []v1alpha1.Icon{icon}
	}
	if m.Description == "" {
		csv.Spec.Description = p.Description
	}
	for _, i := range b.RelatedImages {
		csv.Spec.RelatedImages = append(csv.Spec.RelatedImages, v1alpha1.RelatedImage{Name: i.Name, Image: i.Image})
	}
	text, err := json.Marshal(csv)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// normal returns a value as upstream has it after reading a catalog: keys sorted, without white space.
func normal(t *testing.T, value []byte) []byte {
	t.Helper()
	var v any
	err := json.Unmarshal(value, &v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The ClusterServiceVersions of published catalogs are, byte for byte, those that operator-framework/api writes.
func TestCSVsOfPublishedCatalogs(t *testing.T) {
	checked := 0
	for _, dir := range publishedCatalogs(t) {
		all, packages := listings(t, dirSource(dir))
		channels := map[string]string{} // by package and bundle
		for _, l := range all {
			channels[l.pkg+"/"+l.entry.Name] = l.channel
		}
		s := publishedStore(t, dir)
		meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
		for m, err := range declcfg.Map(t.Context(), meta, dirSource(dir)) {
			if err != nil {
				t.Fatal(err)
			}
			v, err := m.Decode()
			if err != nil {
				t.Fatal(err)
			}
			b, ok := v.(*declcfg.Bundle)
			if !ok {
				continue
			}
			for _, p := range b.Properties {
				if p.Type != declcfg.PropertyCSVMetadata {
					continue
				}
				checked++
				want := clusterServiceVersion(t, packages[b.Package], b, p.Value)
				got := getBundle(t, s, b.Package, channels[b.Package+"/"+b.Name], b.Name)
				if got.CsvJson != want || len(got.Object) != 1 || got.Object[0] != want {
					t.Fatalf("%v: got %d objects and\n%.2000s\nwant\n%.2000s", m.Pos, len(got.Object), got.CsvJson, want)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d bundles have metadata", checked)
	}
}
