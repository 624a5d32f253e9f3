package image

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// TestManifests checks the errors for invalid documents.
func TestManifests(t *testing.T) {
	layer := v1.Descriptor{MediaType: types.OCILayer, Size: 10, Digest: mustHash(t, strings.Repeat("1", 64))}
	config := v1.Descriptor{MediaType: types.OCIConfigJSON, Size: 2, Digest: mustHash(t, strings.Repeat("2", 64))}
	manifest := func(change func(m *v1.Manifest)) string {
		m := &v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config, Layers: []v1.Descriptor{layer}}
		change(m)
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	tests := []struct{ name, mediaType, body, want string }{
		{"no JSON", "", "\n<!DOCTYPE html>", "the answer is an HTML page, not a manifest"},
		{"cut", "", `{"schemaVersion": 2, "layers": [`, "the manifest is broken"},
		{"schema 1", string(types.DockerManifestSchema1Signed), `{"schemaVersion":1,"fsLayers":[]}`, "push the image again"},
		{"neither", "", `{"mediaType":"application/vnd.cncf.helm"}`, `its media type is "application/vnd.cncf.helm"`},
		{"both", "", `{"manifests":[],"layers":[],"config":{}}`, "an index and an image at once"},
		{"index said to be an image", string(types.OCIManifestSchema1), `{"manifests":[]}`, "the media type of the manifest is wrong"},
		{"image said to be an index", string(types.OCIImageIndex), manifest(func(*v1.Manifest) {}), "media type of the manifest is wrong"},
		{"layer for a manifest", string(types.OCILayer), manifest(func(*v1.Manifest) {}), "media type of the manifest is wrong"},
		{"no config", "", `{"layers":[]}`, "the manifest has no config"},
		{"artifact", "", manifest(func(m *v1.Manifest) { m.Config.MediaType = "application/vnd.cncf.helm.config.v1+json" }),
			`not a container image: its config has the media type "application/vnd.cncf.helm.config.v1+json"`},
		{"layer of an artifact", "", manifest(func(m *v1.Manifest) { m.Layers[0].MediaType = "text/plain" }),
			`layer sha256:1111111111111111111111111111111111111111111111111111111111111111: its media type "text/plain"`},
		{"negative size", "", manifest(func(m *v1.Manifest) { m.Layers[0].Size = -1 }), "its size is -1"},
		{"huge layer", "", manifest(func(m *v1.Manifest) { m.Layers[0].Size = 1 << 60 }), "the layers have more than 8 GB"},
		{"huge layers", "", manifest(func(m *v1.Manifest) {
			m.Layers = []v1.Descriptor{layer, layer, layer}
			for n := range m.Layers {
				m.Layers[n].Size = 1<<63 - 1
			}
		}), "the layers have more than 8 GB"},
		{"many layers", "", manifest(func(m *v1.Manifest) { m.Layers = slices.Repeat([]v1.Descriptor{layer}, 1001) }),
			"it has 1001 layers; at most 1000 are allowed"},
		{"huge config", "", manifest(func(m *v1.Manifest) { m.Config.Size = 100 << 20 }), "at most 4 MB are read of a manifest"},
		{"100 MB", "", strings.Repeat(" ", 100<<20), "the manifest has more than 4 MB"},
		{"layer without digest", "", manifest(func(m *v1.Manifest) { m.Layers[0].Digest = v1.Hash{} }), "the manifest is broken: "},
		{"config without digest", "", `{"layers":[],"config":{"mediaType":"` + string(types.OCIConfigJSON) + `"}}`,
			"the manifest is broken: something in it has no digest"},
		{"image without digest", "", `{"manifests":[{"size":1}]}`, "something in it has no digest"},
		{"digest that is a path", "", `{"manifests":[{"digest":"sha256:../../../etc/passwd"}]}`, "the manifest is broken"},
		{"config is missing", "", manifest(func(*v1.Manifest) {}), "config sha256:2222"},
	}
	registry := newRegistry(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/manifests/") {
					return false
				}
				if tt.mediaType != "" {
					w.Header().Set("Content-Type", tt.mediaType)
				}
				_, _ = io.WriteString(w, tt.body) // the client may hang up
				return true
			})
			_, err := Open(t.Context(), registry.host+"/org/image:v1", testOptions(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.300v, want %q", err, tt.want)
			}
		})
	}
}

func mustHash(t testing.TB, hex string) v1.Hash {
	t.Helper()
	h, err := v1.NewHash("sha256:" + hex)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
