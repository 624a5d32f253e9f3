package updatecheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
	"sigs.k8s.io/crdify/pkg/validations"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// checkCABundle returns the error of an API server since Kubernetes 1.31 for a conversion webhook with an invalid CA
// bundle. The API server accepts an invalid CA bundle if the existing one is invalid too.
func checkCABundle(before, after *definition) []Finding {
	errs := invalidCABundle(after)
	if errs == nil || invalidCABundle(before) != nil {
		return nil
	}
	kind := apiextensionsv1.Kind("CustomResourceDefinition")
	return []Finding{{
		Rule: ruleClassicCABundle, CRD: after.Name,
		Message: fmt.Sprintf("error updating CRD: %s: %v", after.Name, apierrors.NewInvalid(kind, after.Name, errs)),
	}}
}

func invalidCABundle(crd *definition) field.ErrorList {
	to := crd.Spec.Conversion
	if !convertsByWebhook(crd) || to.Webhook == nil || to.Webhook.ClientConfig == nil ||
		len(to.Webhook.ClientConfig.CABundle) == 0 {
		return nil
	}
	at := field.NewPath("spec", "conversion", "webhookClientConfig", "caBundle")
	return webhook.ValidateCABundle(at, to.Webhook.ClientConfig.CABundle)
}

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
	finding := Finding{Rule: ruleClassicResource, CRD: crd.Name, Field: v.Name}
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
