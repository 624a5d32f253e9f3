package render_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func TestEdit(t *testing.T) {
	properties := func(types ...string) (list []declcfg.Property) {
		for _, typ := range types {
			typ, value, _ := strings.Cut(typ, "=")
			list = append(list, declcfg.Property{Type: typ, Value: []byte(value)})
		}
		return list
	}
	csv := "olm.bundle.object=" + object("kind: ClusterServiceVersion\nspec: {displayName: D}\n")
	for _, tt := range []struct {
		name     string
		level    render.Migration
		image    string
		in, want []string // types of properties
	}{
		{"nothing", "", "i", nil, nil},
		{
			"manifests go last", "", "i",
			[]string{"olm.csv.metadata={}", "b", csv, "a", "olm.bundle.object={}", "b"},
			[]string{"b", "a", "b", "olm.csv.metadata", "olm.bundle.object", "olm.bundle.object"},
		},
		{"none", render.MigrateNone, "i", []string{csv, "a"}, []string{"a", "olm.bundle.object"}},
		{"CSV to metadata", render.MigrateToCSVMetadata, "i", []string{csv, "a"}, []string{"a", "olm.csv.metadata"}},
		{"all", render.MigrateAll, "i", []string{csv, "a"}, []string{"a", "olm.csv.metadata"}},
		{"without an image", render.MigrateAll, "", []string{csv, "a"}, []string{"a", "olm.bundle.object"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &declcfg.Bundle{Image: tt.image, Properties: properties(tt.in...)}
			if err := (render.Changes{Migration: tt.level}).Edit(b); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range b.Properties {
				got = append(got, p.Type)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	b := &declcfg.Bundle{RelatedImages: []declcfg.RelatedImage{{Name: "1", Image: "b"}, {Name: "3", Image: "a"}, {Name: "2", Image: "a"}}}
	if err := (render.Changes{}).Edit(b); err != nil || fmt.Sprint(b.RelatedImages) != "[{3 a null} {2 a null} {1 b null}]" {
		t.Errorf("related images %v, %v", b.RelatedImages, err)
	}
}

// object returns the value of an olm.bundle.object.
func object(manifest string) string {
	return `{"data":"` + base64.StdEncoding.EncodeToString([]byte(manifest)) + `"}`
}

// TestMigrateErrors checks that a bundle that cannot be migrated is reported before anything is written.
func TestMigrateErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "a.json", `{"schema":"olm.bundle","package":"p","name":"b","image":"i","properties":[{"type":"olm.bundle.object","value":`+
		object("kind: ClusterServiceVersion\nspec: {displayName: [1]}\n")+`}]}`)
	if _, err := rendered(t.Context(), []string{"a.json"}, render.Options{}, render.MigrateNone, ""); err != nil {
		t.Error(err)
	}
	_, err := rendered(t.Context(), []string{"a.json"}, render.Options{}, render.MigrateAll, "")
	const want = `a.json:1:1: migrate bundle "b" to bundle-object-to-csv-metadata: `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
