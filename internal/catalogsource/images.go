package catalogsource

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/internal/legible"
)

// Images are the images of CatalogSources, once OLM has seen their templates.
type Images []resolvedImage

// A resolvedImage is the image of a CatalogSource.
type resolvedImage struct {
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Template   string   `json:"template,omitempty"`
	Image      string   `json:"image"`                // spec.image, once OLM has seen the template
	Unresolved []string `json:"unresolved,omitempty"` // tokens

	// Conditions are the status conditions that OLM sets.
	Conditions []imageCondition `json:"conditions,omitempty"`
}

type imageCondition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// Add adds the image of a CatalogSource in a cluster of Kubernetes version v, nil if the version is unknown to OLM. It
// returns false if the CatalogSource has a template that OLM cannot resolve.
func (i *Images) Add(source *v1alpha1.CatalogSource, v *version.Version) bool {
	image := resolvedImage{
		Namespace: source.Namespace, Name: source.Name, Image: source.Spec.Image,
		Template: source.Annotations[TemplateAnnotation],
	}
	r := Resolution{Resolved: true, Image: image.Image}
	if image.Template != "" {
		r = ResolveImage(image.Template, v)
	}
	if r.Resolved {
		image.Image = r.Image
	}
	image.Unresolved = r.Unresolved
	for _, c := range r.Conditions {
		image.Conditions = append(image.Conditions, imageCondition{c.Type, c.Status, c.Reason, c.Message})
	}
	*i = append(*i, image)
	return r.Resolved
}

// WriteText writes a line for each CatalogSource, and below it the conditions and the unresolved tokens.
func (i Images) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, image := range i {
		fmt.Fprintf(&text, "%s/%s: %s\n", image.Namespace, image.Name, cmp.Or(legible.Message(image.Image), "no image"))
		for _, c := range image.Conditions {
			fmt.Fprintf(&text, "  %s: %s, %s: %s\n", c.Type, c.Status, c.Reason, legible.Message(c.Message))
		}
		for _, token := range image.Unresolved {
			fmt.Fprintf(&text, "  unresolved: %s\n", legible.Message(token))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
