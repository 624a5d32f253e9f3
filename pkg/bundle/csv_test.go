package bundle

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// sample has a value in every field of the metadata, and an object whose keys are not sorted.
const sample = `{"kind":"ClusterServiceVersion","metadata":{"name":"n","annotations":{"b":"<&>","a":"\u2028"},
"labels":{"l":"1"}},"spec":{"annotations":{"not":"kept"},"labels":{"not":"kept"},"displayName":"D","description":"d",
"version":"v1.2","maturity":"alpha","minKubeVersion":"1.20","keywords":["k",""],"links":[{"name":"n","url":"u"},{}],
"maintainers":[{"name":"m","email":"e"}],"provider":{"url":"p","extra":1},
"installModes":[{"type":"T","supported":true}],
"nativeAPIs":[{"version":"v1","kind":"K"}],"icon":[{"base64data":"x","mediatype":"y"}],
"customresourcedefinitions":{"owned":[{"group":"g","name":"n","version":"v1","kind":"K","displayName":"D",
"description":"d","resources":[{"kind":"Pod","version":"v1"}],
"specDescriptors":[{"path":"p","displayName":"D","description":"d","x-descriptors":["x"],"value":{"b":[1],"a":"<"}}],
"statusDescriptors":[{"path":"s","value":null}],"actionDescriptors":[{"path":"a","value":9007199254740993}]}],
"required":[{}]},
"apiservicedefinitions":{"required":[{"name":"n","group":"g","version":"v","kind":"k","deploymentName":"d",
"containerPort":443,"displayName":"D","description":"d","resources":[{"name":"r"}],"statusDescriptors":[{"path":"s"}],
"specDescriptors":[{"path":"s"}],"actionDescriptors":[{"path":"s"}]}]}}}`

// upstreamMetadata is the metadata as opm declares it, with the types of the API.
type upstreamMetadata struct {
	Annotations map[string]string                  `json:"annotations,omitempty"`
	APIServices v1alpha1.APIServiceDefinitions     `json:"apiServiceDefinitions,omitempty"`
	CRDs        v1alpha1.CustomResourceDefinitions `json:"crdDescriptions,omitempty"`
	Description string                             `json:"description,omitempty"`
	DisplayName string                             `json:"displayName,omitempty"`
	Modes       []v1alpha1.InstallMode             `json:"installModes,omitempty"`
	Keywords    []string                           `json:"keywords,omitempty"`
	Labels      map[string]string                  `json:"labels,omitempty"`
	Links       []v1alpha1.AppLink                 `json:"links,omitempty"`
	Maintainers []v1alpha1.Maintainer              `json:"maintainers,omitempty"`
	Maturity    string                             `json:"maturity,omitempty"`
	MinKube     string                             `json:"minKubeVersion,omitempty"`
	NativeAPIs  []metav1.GroupVersionKind          `json:"nativeAPIs,omitempty"`
	Provider    v1alpha1.AppLink                   `json:"provider,omitempty"`
}

// upstream encodes the metadata as opm does. Like opm, it first sorts the keys of the manifest.
func upstream(t testing.TB, csv []byte) (string, error) {
	var typed v1alpha1.ClusterServiceVersion
	if err := json.Unmarshal(resort(t, csv), &typed); err != nil {
		return "", err
	}
	s := &typed.Spec
	return encode(t, upstreamMetadata{
		typed.Annotations, s.APIServiceDefinitions, s.CustomResourceDefinitions, s.Description, s.DisplayName,
		s.InstallModes, s.Keywords, typed.Labels, s.Links, s.Maintainers, s.Maturity, s.MinKubeVersion, s.NativeAPIs,
		s.Provider,
	}), nil
}

func resort(t testing.TB, doc []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return doc
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t testing.TB, v any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// FuzzCSVMetadata checks that the metadata of a ClusterServiceVersion has the bytes that opm writes, also when it is
// read back from a catalog.
func FuzzCSVMetadata(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"spec":{"version":"banana"}}`))
	f.Add([]byte(strings.Replace(sample, `"icon":`, `"icon":[],"icon":`, 1)))
	f.Add([]byte(`{"metadata":{"labels":{"a":"b","c":"d"},"labels":{}},"Metadata":{"labels":{"e":"f"}}}`))
	f.Add([]byte(`{"Spec":{"installModes":null,"keywords":[],"release":"1.a"},"metadata":{"annotations":{}}}`))
	f.Fuzz(func(t *testing.T, csv []byte) {
		if !json.Valid(csv) {
			return
		}
		want, wantErr := upstream(t, csv)
		metadata, err := parseCSVMetadata(csv)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, opm: %v", err, wantErr)
		}
		if err != nil {
			return
		}
		got, err := declcfg.NewProperty(declcfg.PropertyCSVMetadata, metadata)
		if err != nil || string(got.Value) != want {
			t.Fatalf("error %v\n got %s\nwant %s", err, got.Value, want)
		}
		var again declcfg.CSVMetadata
		if err := got.Unmarshal(&again); err != nil {
			t.Fatal(err)
		}
		if reread, _ := declcfg.NewProperty(declcfg.PropertyCSVMetadata, again); string(reread.Value) != want {
			t.Fatalf("read and written again:\n got %s\nwant %s", reread.Value, want)
		}
	})
}

func TestCSVMetadataErrors(t *testing.T) {
	for _, csv := range []string{
		``, `[]`, `{} {}`, `{"a": 1, "a": 2} {}`, `{"spec": {"version": "banana"}}`, `{"spec": {"version": 1}}`,
		`{"spec": {"keywords": "a"}}`,
		`{"spec": {"release": 1}}`, `{"metadata": {"annotations": {"a": true}}}`,
	} {
		if got, err := parseCSVMetadata([]byte(csv)); err == nil || !strings.HasPrefix(err.Error(), "decode ClusterService") {
			t.Errorf("%s: got %+v, %v", csv, got, err)
		}
	}
}

func BenchmarkCSVMetadata(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseCSVMetadata([]byte(sample)); err != nil {
			b.Fatal(err)
		}
	}
}
