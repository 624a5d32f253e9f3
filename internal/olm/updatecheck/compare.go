package updatecheck

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Finding is a change of a CustomResourceDefinition because of which OLM refuses an update.
type Finding struct {
	Rule     *problem.Rule    // one of [Rules]
	Severity problem.Severity // "" for the severity of the rule
	Object   string           // the name of the definition, or the kind and name of another object
	Field    string           // such as "v1: ^.spec.size", or a stored version; "" for none
	Message  string           // the message of OLM
}

// refuses reports whether OLM refuses an update because of the finding.
func (f Finding) refuses() bool { return f.Severity != problem.Warning }

// Compare returns the changes of a CustomResourceDefinition because of which a version of OLM refuses an update.
// [bundle.DecodeCRD] must have decoded the definitions. Resources are the custom resources in the cluster; only OLM
// Classic checks them.
//
// For a removed field, OLM v1 also reports every field in it; Compare drops these findings.
//
// If the status of before has no stored versions, the storage version is assumed. Compare may be called concurrently,
// even with the same definitions.
func Compare(
	olm graph.Semantics, before, after *apiextensionsv1.CustomResourceDefinition, resources []*unstructured.Unstructured,
) []Finding {
	before, after = normalized(before), normalized(after)
	if olm == graph.Classic {
		// OLM itself reports only the first finding.
		if len(after.Spec.Versions) == 0 {
			return []Finding{{
				Rule: ruleClassicVersions, Object: after.Name, Message: "could not find any versions in the new CRD",
			}}
		}
		var found []Finding
		for i := range after.Spec.Versions {
			v := &after.Spec.Versions[i]
			if served := versionOf(before, v.Name); v.Served && served != nil && served.Served {
				found = append(found, checkResources(after, v, resources)...)
			}
		}
		for _, name := range before.Status.StoredVersions {
			if versionOf(after, name) == nil {
				found = append(found, Finding{
					Rule: ruleClassicStoredVersion, Object: after.Name, Field: name,
					Message: fmt.Sprintf("risk of data loss updating %q: new CRD removes version %s "+
						"that is listed as a stored version on the existing CRD", after.Name, name),
				})
			}
		}
		return found
	}
	return compareV1(before, after)
}

// isV1 reports whether an API server checks a definition as one of version v1. It accepts more of older definitions.
func isV1(crd *definition) bool { return crd.APIVersion == apiextensionsv1.SchemeGroupVersion.String() }

// refusedCreation returns the error of an API server that refuses to create a definition.
func refusedCreation(crd *definition) error {
	if !isV1(crd) {
		return nil
	}
	return admission.Invalid(crd, admission.Create(crd))
}

// refusedUpdate returns the error of an API server that refuses to update a definition, without the errors that a
// version of OLM finds itself.
func refusedUpdate(before, after *definition, found []Finding) error {
	if !isV1(after) {
		return nil
	}
	known := map[string]bool{}
	for _, f := range found {
		switch f.Rule.Name {
		case "v1-scope":
			known["spec.scope"] = true
		case ruleClassicStoredVersion.Name, "v1-stored-version-removal":
			known["status.storedVersions"] = true
		case ruleClassicVersions.Name:
			return nil
		}
	}
	errs := slices.DeleteFunc(admission.Update(after, normalized(before)), func(e *field.Error) bool {
		name, _, _ := strings.Cut(e.Field, "[")
		return known[name]
	})
	return admission.Invalid(after, errs)
}

// normalized returns a copy with stored versions, and with a schema in every version.
func normalized(crd *definition) *definition {
	c := *crd
	c.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range c.Spec.Versions {
		v := &c.Spec.Versions[i]
		if v.Schema == nil {
			v.Schema = new(apiextensionsv1.CustomResourceValidation)
		}
		if v.Storage && len(crd.Status.StoredVersions) == 0 {
			c.Status.StoredVersions = append(c.Status.StoredVersions, v.Name)
		}
	}
	return &c
}
