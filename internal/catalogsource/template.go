package catalogsource

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/internal/legible"
)

// TemplateAnnotation is the annotation of a CatalogSource that contains its image template.
const TemplateAnnotation = "olm.catalogImageTemplate"

// The conditions of a CatalogSource that has a template.
const (
	conditionResolved = "TemplatesHaveResolved"
	conditionImage    = "ResolvedImage"
)

// TemplateConditions are the types of the conditions that OLM removes if there is no template.
var TemplateConditions = []string{conditionResolved, conditionImage}

// A Resolution is the result of expanding an image template.
type Resolution struct {
	Image      string // with the tokens that could not be resolved
	Resolved   bool   // OLM sets spec.image to Image; otherwise it does not change spec.image
	Unresolved []string

	// Conditions are the conditions that OLM adds to the status, without a time.
	Conditions []metav1.Condition
}

// tokens are replaced by parts of the version of the API server.
var tokens = []struct {
	text  string
	value func(*version.Version) uint
}{
	{"{kube_major_version}", (*version.Version).Major},
	{"{kube_minor_version}", (*version.Version).Minor},
	{"{kube_patch_version}", (*version.Version).Patch},
}

// NeedsVersion reports whether a template depends on the version of Kubernetes.
func NeedsVersion(template string) bool {
	for _, token := range tokens {
		if strings.Contains(template, token.text) {
			return true
		}
	}
	return false
}

// unknownToken matches tokens that OLM does not replace. The JSONPath in a token may itself contain braces.
var unknownToken = regexp.MustCompile(`\{(?:[^{}]|\{[^{}]*\})*\}`)

// CheckTemplate returns an error if OLM cannot expand a template for any version of Kubernetes.
func CheckTemplate(template string) error {
	unknown := slices.DeleteFunc(unknownToken.FindAllString(template, -1), func(variable string) bool {
		for _, token := range tokens {
			if token.text == variable {
				return true
			}
		}
		return false
	})
	if len(unknown) > 0 {
		return fmt.Errorf("OLM has no variable %s", legible.Value(strings.Join(unknown, ", ")))
	}
	if !ResolveImage(template, version.MustParseGeneric("1.0.0")).Resolved {
		return fmt.Errorf("%q is not a valid image reference", template)
	}
	return nil
}

// ResolveImage expands an image template as OLM does in a cluster of Kubernetes version v, nil if the version is
// unknown to OLM.
func ResolveImage(template string, v *version.Version) Resolution {
	const missing = "missing" // OLM's value of a token without a version
	r := Resolution{Image: template}
	var variables []string // in OLM's message
	for _, token := range tokens {
		value := missing
		if v != nil {
			value = strconv.FormatUint(uint64(token.value(v)), 10)
		} else if strings.Contains(template, token.text) {
			variables = append(variables, token.text)
		}
		r.Image = strings.ReplaceAll(r.Image, token.text, value)
	}
	r.Unresolved = append(variables, unknownToken.FindAllString(r.Image, -1)...)
	_, err := reference.Parse(r.Image)
	r.Resolved = len(variables) == 0 && err == nil
	status, reason := metav1.ConditionTrue, "AllTemplatesResolved"
	message := "catalog image reference was successfully resolved"
	if !r.Resolved {
		status, reason = metav1.ConditionFalse, "UnableToResolve"
		var because []string
		if len(variables) > 0 {
			because = append(because, fmt.Sprintf(`variable(s) "%s" could not be resolved`, strings.Join(variables, `", "`)))
		}
		if err != nil {
			because = append(because, "one or more template(s) has improper syntax")
		}
		message = "cannot construct catalog image reference, because " + strings.Join(because, " and ")
	}
	r.Conditions = []metav1.Condition{
		{Type: conditionResolved, Status: status, Reason: reason, Message: message},
		{Type: conditionImage, Status: status, Reason: reason, Message: r.Image},
	}
	return r
}
