package updatecheck

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Finding is a change of a CustomResourceDefinition because of which OLM refuses an update.
type Finding struct {
	Rule     *problem.Rule    // one of [Rules]
	Severity problem.Severity // "" for the severity of the rule
	CRD      string           // the name of the definition
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
				Rule: ruleClassicVersions, CRD: after.Name, Message: "could not find any versions in the new CRD",
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
					Rule: ruleClassicStoredVersion, CRD: after.Name, Field: name,
					Message: fmt.Sprintf("risk of data loss updating %q: new CRD removes version %s "+
						"that is listed as a stored version on the existing CRD", after.Name, name),
				})
			}
		}
		return append(found, checkCABundle(before, after)...)
	}
	return compareV1(before, after)
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
