package crdcheck

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Finding is a change of a CustomResourceDefinition for which OLM refuses an update.
type Finding struct {
	Rule     string           // of [Rules]
	Severity problem.Severity // "" for that of the rule
	CRD      string           // its name
	Field    string           // such as "v1: ^.spec.size", or a stored version; "" for none
	Message  string           // of OLM
}

// refuses reports whether OLM refuses an update for the finding.
func (f Finding) refuses() bool { return f.Severity != problem.Warning }

// Compare returns the changes of a CustomResourceDefinition, which [bundle.DecodeCRD] decoded, for which a version of
// OLM refuses an update. Resources are its custom resources in the cluster; only OLM Classic looks at them.
//
// Of a removed field OLM v1 also reports every field in it; these are dropped.
//
// If before has no stored versions in its status, these are taken to be its storage version. Any number of goroutines
// may compare, and the same definitions.
func Compare(
	olm graph.Semantics, before, after *apiextensionsv1.CustomResourceDefinition, resources []*unstructured.Unstructured,
) []Finding {
	before, after = normalized(before), normalized(after)
	if olm == graph.Classic {
		return compareClassic(before, after, resources)
	}
	return compareV1(before, after)
}

// normalized returns a copy that has stored versions, and a schema in every version.
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
