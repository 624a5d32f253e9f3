package publish_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/opm-toolchain/opm/internal/publish"
)

func TestPlaces(t *testing.T) {
	const both = "put {{.Catalog}} into it, the name of the catalog"
	for _, tt := range []struct {
		place publish.Place
		names []string
		want  string
	}{
		{publish.Place{}, []string{"a", "b"}, "[{[]  } {[]  }]"},
		{
			publish.Place{Tags: []string{"r/{{.Catalog}}:v1", "s:{{.Catalog}}"}, Archive: "{{.Catalog}}.tar", Layout: "l"},
			[]string{"a", "b"}, "[{[r/a:v1 s:a] l a.tar} {[r/b:v1 s:b] l b.tar}]",
		},
		{publish.Place{Tags: []string{"r:v1", "r:v1"}, Archive: "a.tar"}, []string{""}, "[{[r:v1 r:v1]  a.tar}]"},
		{publish.Place{Tags: []string{"!", "docker.io/r"}}, []string{"a"}, "[{[! docker.io/r]  }]"},
		{publish.Place{Layout: "{{.Catalog}}"}, []string{""}, `--oci-layout "{{.Catalog}}": there is no catalog with a name`},
		{
			publish.Place{Tags: []string{"r:latest"}}, []string{"a", "b"},
			`--tag "r:latest" names the image of both a and b: ` + both,
		},
		{publish.Place{Archive: "a.tar"}, []string{"a", "b"}, `--archive "a.tar" is the file of both a and b: ` + both},
		{
			publish.Place{Layout: "l"}, []string{"a", "b"},
			"several catalogs in one --oci-layout need {{.Catalog}} in it or in --tag",
		},
		{publish.Place{Tags: []string{"{{"}}, []string{"a"}, `--tag "{{": template: tag:1: unclosed action`},
		{
			publish.Place{Layout: "{{.Name}}"}, []string{"a"},
			`--oci-layout "{{.Name}}": the only value is {{.Catalog}}, the name of the catalog`,
		},
		{
			publish.Place{Layout: "{{slice .Catalog 0 9}}"}, []string{"a"},
			`--oci-layout "{{slice .Catalog 0 9}}": template: oci-layout:1:2: executing "oci-layout" at ` +
				"<slice .Catalog 0 9>: error calling slice: index out of range: 9",
		},
	} {
		places, err := tt.place.ForEach(tt.names)
		got := fmt.Sprint(places)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.place, got, tt.want)
		}
	}
}

// TestPlaceWrite checks that an image has the first tag in a layout and in an archive, and that no place is no error.
func TestPlaceWrite(t *testing.T) {
	dir := t.TempDir()
	place := publish.Place{
		Tags:   []string{"registry.example/a:v1", "registry.example/a:v2"},
		Layout: filepath.Join(dir, "layout"), Archive: filepath.Join(dir, "a.tar"),
	}
	for _, p := range []publish.Place{{}, {Tags: place.Tags}, place, place} { // an archive is overwritten
		if err := p.Write(empty.Image); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(place.Layout, "index.json"), place.Archive} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), place.Tags[0]) || strings.Contains(string(text), place.Tags[1]) {
			t.Errorf("%s: %v, %s", file, err, text)
		}
	}
}

func TestReferences(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, tt := range []struct{ tags, want []string }{
		{nil, []string{digest}},
		{
			[]string{"registry.example/a:v1", "registry.example/a:v2", "registry.example/b"},
			[]string{"registry.example/a@" + digest, "registry.example/b@" + digest},
		},
	} {
		got, err := publish.References(tt.tags, digest)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, %v", tt.tags, got, err)
		}
	}
}
