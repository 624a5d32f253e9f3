package render_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func TestTargetForm(t *testing.T) {
	for target, want := range map[string]render.Form{
		"ocp=4.16": render.FormObject, "ocp=4.17": render.FormMetadata, "ocp=v4.9": render.FormObject,
		"ocp=4.20": render.FormMetadata, "ocp=5.0": render.FormMetadata,
		"ocp": "", "ocp=": "", "ocp=4": "", "ocp=4.x": "", "ocp=3.11": "", "k8s=1.30": "", "": "",
	} {
		got, err := render.TargetForm(target)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("TargetForm(%q) = %q, %v, want %q", target, got, err, want)
		}
	}
}

func TestForms(t *testing.T) {
	csv := declcfg.Property{Type: declcfg.PropertyBundleObject, Value: []byte(object("kind: ClusterServiceVersion\n"))}
	other := declcfg.Property{Type: declcfg.PropertyBundleObject, Value: []byte(object("kind: Service\n"))}
	metadata := declcfg.Property{Type: declcfg.PropertyCSVMetadata, Value: []byte(`{}`)}
	for _, tt := range []struct {
		form       render.Form
		image      string
		properties []declcfg.Property
		want       string // types of properties
		err        error
	}{
		{render.FormObject, "", []declcfg.Property{csv, other}, "olm.bundle.object, olm.bundle.object", nil},
		{render.FormObject, "i", []declcfg.Property{metadata, csv}, "olm.bundle.object", nil},
		{render.FormObject, "i", []declcfg.Property{metadata}, "", bundle.ErrNoManifests},
		{render.FormObject, "i", nil, "", nil},
		{render.FormMetadata, "i", []declcfg.Property{csv, other}, "olm.csv.metadata", nil},
		{render.FormMetadata, "i", []declcfg.Property{metadata}, "olm.csv.metadata", nil},
		{render.FormMetadata, "", []declcfg.Property{csv}, "", bundle.ErrNoImage},
		{render.FormMetadata, "i", []declcfg.Property{other}, "", bundle.ErrNoManifests},
		{"", "i", []declcfg.Property{csv, metadata}, "olm.bundle.object, olm.csv.metadata", nil},
	} {
		b := &declcfg.Bundle{Image: tt.image, Properties: tt.properties}
		err := render.Changes{Form: tt.form}.Edit(b)
		if !errors.Is(err, tt.err) || err != nil && tt.err == nil {
			t.Errorf("%s of %v: error %v, want %v", tt.form, tt.properties, err, tt.err)
			continue
		}
		var types []string
		for _, p := range b.Properties {
			types = append(types, p.Type)
		}
		if got := strings.Join(types, ", "); err == nil && got != tt.want {
			t.Errorf("%s of %v: %s, want %s", tt.form, tt.properties, got, tt.want)
		}
	}
}

func TestRewrites(t *testing.T) {
	var changes render.Changes
	for _, text := range []string{"quay.io/staging=quay.io/prod/", "quay.io/staging/b/=other.io/b", "x.io=y.io:5000"} {
		r, err := render.ParseRewrite(text)
		if err != nil {
			t.Fatal(err)
		}
		changes.Rewrites = append(changes.Rewrites, r)
	}
	b := &declcfg.Bundle{Image: "quay.io/staging/b@sha256:1", RelatedImages: []declcfg.RelatedImage{
		{Image: "quay.io/stagings/a:1"}, {Image: "x.io/a:1"}, {Image: "quay.io/staging:1"},
		{Image: "quay.io/staging/b@sha256:1"}, {Name: "self", Image: "quay.io/prod/b@sha256:1"},
	}}
	if err := changes.Edit(b); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(b.Image, b.RelatedImages)
	const want = "quay.io/prod/b@sha256:1[{self quay.io/prod/b@sha256:1 null} { quay.io/prod:1 null} " +
		"{ quay.io/stagings/a:1 null} { y.io:5000/a:1 null}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, text := range []string{"", "a", "=b", "a=", "/=b"} {
		if _, err := render.ParseRewrite(text); err == nil {
			t.Errorf("ParseRewrite(%q) takes it", text)
		}
	}
}

// TestRelatedImagesOrder checks the order of equal related images, which opm sorts with the unstable sort.Slice.
func TestRelatedImagesOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	unstable := 0
	for range 300 {
		var images []declcfg.RelatedImage
		for i := range 13 + random.IntN(60) {
			images = append(images, declcfg.RelatedImage{Name: fmt.Sprint(i), Image: fmt.Sprintf("quay.io/a/b:%d", random.IntN(9))})
		}
		parsed := parseWithImages(t, images, "quay.io/a/b:5-bundle")
		want := append(slices.Clone(images), declcfg.RelatedImage{Image: "quay.io/a/b:5-bundle"})
		stable := slices.Clone(want)
		sort.Slice(want, func(i, j int) bool { return want[i].Image < want[j].Image })
		sort.SliceStable(stable, func(i, j int) bool { return stable[i].Image < stable[j].Image })
		if !slices.EqualFunc(stable, want, sameImage) {
			unstable++
		}
		edited := &declcfg.Bundle{RelatedImages: append(slices.Clone(images), declcfg.RelatedImage{Image: "quay.io/a/b:5-bundle"})}
		for _, b := range []*declcfg.Bundle{parsed, edited} {
			if err := (render.Changes{}).Edit(b); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(b.RelatedImages, want, sameImage) {
				t.Fatalf("got %v\nwant %v", b.RelatedImages, want)
			}
		}
	}
	if unstable == 0 {
		t.Error("a stable sort would give the same")
	}
}

func sameImage(a, b declcfg.RelatedImage) bool { return a.Name == b.Name && a.Image == b.Image }

// parseWithImages parses a bundle that lists the images, from its own image.
func parseWithImages(t *testing.T, images []declcfg.RelatedImage, image string) *declcfg.Bundle {
	t.Helper()
	csv := "kind: ClusterServiceVersion\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: b.v1}\n" +
		"spec:\n  version: 1.0.0\n  relatedImages:\n"
	for _, i := range images {
		csv += fmt.Sprintf("  - {name: %q, image: %q}\n", i.Name, i.Image)
	}
	files := fstest.MapFS{
		"manifests/csv.yaml":        {Data: []byte(csv)},
		"metadata/annotations.yaml": {Data: []byte("annotations: {" + bundle.AnnotationPackage + ": b}\n")},
	}
	b, err := bundle.Parse(files, "b", bundle.Options{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
