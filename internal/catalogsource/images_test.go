package catalogsource

import (
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// TestImages checks the images of CatalogSources with a template, with one that has no value, and without both.
func TestImages(t *testing.T) {
	const want = `
olm/versioned: registry.example/a:v1.33
  TemplatesHaveResolved: True, AllTemplatesResolved: catalog image reference was successfully resolved
  ResolvedImage: True, AllTemplatesResolved: registry.example/a:v1.33
olm/unresolved: registry.example/old
  TemplatesHaveResolved: False, UnableToResolve: cannot construct catalog image reference, because one or more template(s) has improper syntax
  ResolvedImage: False, UnableToResolve: registry.example/{a}
  unresolved: {a}
olm/address: no image
`
	var images Images
	for _, tt := range []struct {
		name, image, template string
		resolved              bool
	}{
		{"versioned", "registry.example/old", "registry.example/a:v{kube_major_version}.{kube_minor_version}", true},
		{"unresolved", "registry.example/old", "registry.example/{a}", false},
		{"address", "", "", true},
	} {
		source := &v1alpha1.CatalogSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: tt.name},
			Spec:       v1alpha1.CatalogSourceSpec{Image: tt.image},
		}
		if tt.template != "" {
			source.Annotations = map[string]string{TemplateAnnotation: tt.template}
		}
		if got := images.Add(source, version.MustParseGeneric("1.33.2")); got != tt.resolved {
			t.Errorf("%s: resolved is %t", tt.name, got)
		}
	}
	var text strings.Builder
	if err := images.WriteText(&text); err != nil || text.String() != want[1:] {
		t.Errorf("got %v\n%s\nwant\n%s", err, text.String(), want[1:])
	}
}
