package store_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A metadata is olm.csv.metadata with the types of ClusterServiceVersions.
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

// clusterServiceVersion builds a ClusterServiceVersion from metadata, with the types of operator-framework/api.
func clusterServiceVersion(t *testing.T, p *declcfg.Package, b *declcfg.Bundle, value []byte) string {
	t.Helper()
	var m metadata
	if err := json.Unmarshal(value, &m); err != nil {
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

// normal returns a value in the form in which upstream reads a catalog: keys sorted, without white space.
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

// TestCSVsOfPublishedCatalogs compares the ClusterServiceVersions of published catalogs byte for byte with the output
// of operator-framework/api.
func TestCSVsOfPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	checked := 0
	for _, dir := range shared.Catalogs(t) {
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
				want := clusterServiceVersion(t, packages[b.Package], b, normal(t, p.Value))
				got := getBundle(t, s, b.Package, channels[b.Package+"/"+b.Name], b.Name)
				if got.CsvJson != want || len(got.Object) != 1 || got.Object[0] != want {
					t.Fatalf("%v: got %d objects and\n%.2000s\nwant\n%.2000s", m.Pos, len(got.Object), got.CsvJson, want)
				}
			}
		}
	}
	if checked < shared.Number(100, 10) {
		t.Errorf("only %d bundles have metadata", checked)
	}
}

// checkCSV compares the ClusterServiceVersion that a store builds from metadata with the output of
// operator-framework/api. It reports false for metadata that the latter rejects.
func checkCSV(t *testing.T, value string) bool {
	t.Helper()
	b := &declcfg.Bundle{
		Name: "<b>", Package: "p", RelatedImages: []declcfg.RelatedImage{{Image: "&"}},
		Properties: []declcfg.Property{{Type: declcfg.PropertyPackage, Value: []byte(`{"packageName":"p","version":"1.0.0"}`)}},
	}
	if json.Unmarshal([]byte(value), new(metadata)) != nil {
		return false
	}
	s := build(t, store.BuildOptions{}, source("a.json", `{"schema":"olm.package","name":"p","defaultChannel":"c"}
{"schema":"olm.channel","package":"p","name":"c","entries":[{"name":"<b>"}]}
{"schema":"olm.bundle","package":"p","name":"<b>","relatedImages":[{"name":"","image":"&"}],"properties":[
	{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}},{"type":"olm.csv.metadata","value":`+value+`}]}`))
	want := clusterServiceVersion(t, &declcfg.Package{}, b, normal(t, []byte(value)))
	if got := getBundle(t, s, "p", "c", "<b>").CsvJson; got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", value, got, want)
	}
	return true
}

// TestRearrange builds ClusterServiceVersions from unusual metadata.
func TestRearrange(t *testing.T) {
	var runes []rune
	for r := range rune(0x250) {
		runes = append(runes, r)
	}
	runes = append(runes, 0x2027, 0x2028, 0x2029, 0x202a, 0xfffd, 0x10ffff)
	text, err := json.Marshal(string(runes))
	if err != nil {
		t.Fatal(err)
	}
	for _, metadata := range []string{
		`{}`,
		`null`,
		`{"description":` + string(text) + `}`,
		`{"labels":{"a":"1","b":"2"},"annotations":{"x":"\n\t\"\\\r"}}`,
		` { "provider" : { "url" : "u" , "name" : "n" } , "keywords" : [ "a" , "b" ] } `,
		`{"description":"<&> \u003c\u003E \u2028 \/ \b\f \u0001 é 日本 ` + "\u2028\u2029\u2027" + `"}`,
		`{"displayName":"\ud83d\ude00 \u00e9"}`,
		`{"crdDescriptions":{"required":[],"owned":[{"kind":"K","version":"v1","name":"n","specDescriptors":[
			{"value":{"b":[1.0,"<"],"a":null},"path":"p","x-descriptors":["x"]}]},{}]}}`,
		`{"apiServiceDefinitions":{"owned":[{"containerPort":443,"group":"g"},{"containerPort":0}]}}`,
		`{"installModes":[{"supported":true,"type":"All"},{"type":"Own"}],"maturity":"","links":[{}]}`,
		`{"unknown":{"a":[1,{"b":null}]},"maintainers":[{"email":"e","name":"n","age":3}]}`,
		`{"crdDescriptions":{"owned":[{"group":"lost"}]}}`,
		`{"labels":{"b":"2","a":"1"}}`,
		`{"labels":{"\u0061":"1"}}`,
		`{"labels":{"a":null}}`,
		`{"labels":null,"keywords":null,"provider":null,"description":null}`,
		`{"DisplayName":"in another case"}`,
		`{"display\u004eame":"escaped"}`,
		`{"keywords":[null]}`,
		`{"apiServiceDefinitions":{"owned":[{"containerPort":2147483647},{"containerPort":-1}]}}`,
		`{"crdDescriptions":{"owned":[{"statusDescriptors":[{"value":null}]}]}}`,
	} {
		if !checkCSV(t, metadata) {
			t.Errorf("%s is not compared", metadata)
		}
	}
}

func FuzzRearrange(f *testing.F) {
	f.Add(`{"labels":{"a":"1"},"crdDescriptions":{"owned":[{"name":"<é\u2028\/>","specDescriptors":[{"value":{"b":1,"a":[]}}]}]}}`)
	f.Add(`{"description":"` + "\u2028\u2027" + `\u003c\b","installModes":[{"type":"x","supported":false}],"links":null}`)
	f.Add(`{"apiServiceDefinitions":{"required":[{"containerPort":12,"resources":[{"kind":"k"}]}]},"nativeAPIs":[{}]}`)
	f.Fuzz(func(t *testing.T, metadata string) {
		var value any
		if json.Unmarshal([]byte(metadata), &value) == nil {
			checkCSV(t, string(normal(t, []byte(metadata)))) // package declcfg differs about numbers and equal keys
		}
	})
}
