package bundle

import (
	"maps"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/encoding"
)

var extractFiles = files{
	"manifests/csv.yaml": "kind: ClusterServiceVersion\n", "manifests/.my crd+1.yaml": "kind: A\n", "manifests/crd.yaml": "",
	"metadata/annotations.yaml": "annotations: {" + AnnotationPackage + ": oak, " + AnnotationChannels + ": 1, vendor: Wood}\n",
	"metadata/properties.yaml":  "properties: []\n",
}

func TestExtract(t *testing.T) {
	fsys := extractFiles.fs()
	m, err := Extract(fsys, "b", ExtractOptions{Image: "example.com/oak:1"})
	if err != nil {
		t.Fatal(err)
	}
	wantData := map[string]string{
		"csv.yaml": "kind: ClusterServiceVersion\n", ".my-crd-1.yaml": "kind: A\n", "properties.yaml": "properties: []\n"}
	if !maps.Equal(m.Data, wantData) || m.BinaryData != nil {
		t.Errorf("got data %q and %q, want %q", m.Data, m.BinaryData, wantData)
	}
	wantAnnotations := map[string]string{
		AnnotationMediaType: "", AnnotationManifests: "", AnnotationMetadata: "", AnnotationPackage: "oak",
		AnnotationChannels: "1", AnnotationDefaultChannel: "", "olm.sourceImage": "example.com/oak:1"}
	if !maps.Equal(m.Annotations, wantAnnotations) {
		t.Errorf("got annotations %q, want %q", m.Annotations, wantAnnotations)
	}

	m, err = Extract(fsys, "b", ExtractOptions{Gzip: true})
	if err != nil {
		t.Fatal(err)
	}
	unpacked := make(map[string]string)
	for key, value := range m.BinaryData {
		text, err := encoding.GzipBase64Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		unpacked[key] = string(text)
	}
	if !maps.Equal(unpacked, wantData) || m.Data != nil {
		t.Errorf("packed: got %q and %q, want %q", unpacked, m.Data, wantData)
	}
	if got := m.Annotations["olm.contentEncoding"]; got != "gzip+base64" {
		t.Errorf("packed: got content encoding %q", got)
	}
}

// TestExtractLimit checks that the limit applies to the stored data, and that annotations are not counted.
func TestExtractLimit(t *testing.T) {
	fsys := mapFS("manifests/a.yaml", strings.Repeat("a", 1000), "metadata/annotations.yaml", "annotations: {}\n")
	for _, test := range []struct {
		opts ExtractOptions
		want string
	}{
		{ExtractOptions{Limit: 1000}, ""},
		{ExtractOptions{Limit: 999}, "b/manifests: the stored files have 1000 bytes, more than the limit of 999"},
		{ExtractOptions{Limit: 100, Gzip: true}, ""},
		{ExtractOptions{}, ""},
	} {
		_, err := Extract(fsys, "b", test.opts)
		if got := errorText(err); got != test.want {
			t.Errorf("%+v: got error %q, want %q", test.opts, got, test.want)
		}
	}
	large := mapFS("manifests/a.yaml", strings.Repeat("a", DefaultExtractLimit+1), "metadata/a", "")
	if _, err := Extract(large, "b", ExtractOptions{}); err == nil {
		t.Error("no error about more than the default limit")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestExtractFails(t *testing.T) {
	for _, test := range []struct {
		files files
		want  string
	}{
		{files{"manifests/a b": "a", "manifests/a+b": "b"}, "b/manifests/a+b: key a-b is already used for b/manifests/a b"},
		{files{"metadata/csv.yaml": "a"}, "b/metadata/csv.yaml: key csv.yaml is already used for b/manifests/csv.yaml"},
		{files{"manifests/more/a": "a"}, "b/manifests/more: a directory: "},
		{files{"metadata/annotations.yaml": "a: b: c"}, "b/metadata/annotations.yaml:1:5: "},
		{files{"metadata/annotations.yaml": "annotations: {a: []}"}, "b/metadata/annotations.yaml:1:18: annotations.a: want a string"},
		{files{"metadata/annotations.yaml": "", "metadata/properties.yaml": ""}, "b/metadata: file does not exist"},
	} {
		all := extractFiles
		fsys := all.fs()
		for name, content := range test.files {
			delete(fsys, name)
			if content != "" {
				fsys[name] = mapFS(name, content)[name]
			}
		}
		for name := range fsys {
			if all[name] == "" && test.files[name] == "" {
				delete(fsys, name) // it is in goodFiles
			}
		}
		if _, err := Extract(fsys, "b", ExtractOptions{}); !strings.HasPrefix(errorText(err), test.want) {
			t.Errorf("got error %v, want %q", err, test.want)
		}
	}
}
