package updatecheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/crdify/pkg/validations"

	"github.com/opm-toolchain/opm/pkg/problem"
)

func convertsByWebhook(crd *definition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// versionOf returns the version with the given name, or nil.
func versionOf(crd *definition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == name
	})
	if i < 0 {
		return nil
	}
	return &crd.Spec.Versions[i]
}

// checkResources returns a finding for each resource that is invalid in a version of the definition. Resources of
// other versions are checked too, because they have the same fields unless a webhook converts them.
func checkResources(
	crd *definition, v *apiextensionsv1.CustomResourceDefinitionVersion, resources []*unstructured.Unstructured,
) []Finding {
	if len(resources) == 0 || v.Schema.OpenAPIV3Schema == nil {
		return nil
	}
	finding := Finding{Rule: ruleClassicResource, Object: crd.Name, Field: v.Name}
	converted := convertsByWebhook(crd)
	if converted {
		finding.Severity = problem.Warning
	}
	restrictive := func(err error) Finding {
		finding.Message = fmt.Sprintf("error validating existing CRs against new CRD's schema for %q: %v", crd.Name, err)
		return finding
	}
	validator, err := newValidator(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return []Finding{restrictive(err)}
	}
	var found []Finding
	for _, r := range resources {
		kind := r.GroupVersionKind()
		if converted && kind.Version != v.Name {
			continue
		}
		kind.Version = v.Name
		if errs := validation.ValidateCustomResource(field.NewPath(""), r.UnstructuredContent(), validator); len(errs) > 0 {
			name := strings.TrimPrefix(r.GetNamespace()+"/"+r.GetName(), "/")
			found = append(found, restrictive(fmt.Errorf(
				"error validating %s %q: updated validation is too restrictive: %w", kind, name, errs.ToAggregate())))
		}
	}
	return found
}

// newValidator compiles a schema. It refuses references first, as Kubernetes does, because the library panics on
// them.
func newValidator(s *props) (validation.SchemaValidator, error) {
	isReference := func(s *props, _, _ *field.Path, _ []*props) bool { return s.Ref != nil }
	if validations.SchemaHas(s, nil, nil, nil, isReference) {
		return nil, errors.New("$ref is not supported")
	}
	internal := new(apiextensions.JSONSchemaProps)
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, internal, nil); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	return validator, err
}
