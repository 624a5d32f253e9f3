package operatorgroup

import (
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// APIs is a set of APIs.
type APIs = sets.Set[schema.GroupVersionKind]

// Annotated returns the APIs in the annotation olm.providedAPIs of a group. Malformed names are ignored.
func Annotated(g *operatorsv1.OperatorGroup) APIs {
	text := g.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey]
	apis := APIs{}
	for name := range strings.SplitSeq(strings.ReplaceAll(text, " ", ""), ",") {
		if gvk, _ := schema.ParseKindArg(name); gvk != nil {
			apis.Insert(*gvk)
		}
	}
	return apis
}

// Annotation returns the value of the annotation olm.providedAPIs: the APIs sorted and separated by commas.
func Annotation(apis APIs) string {
	names := make([]string, 0, len(apis))
	for api := range apis {
		names = append(names, api.Kind+"."+api.Version+"."+api.Group)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// Provided returns the APIs that an operator provides. OLM ignores an operator with an error.
func Provided(csv *v1alpha1.ClusterServiceVersion) (APIs, error) {
	crds, services := &csv.Spec.CustomResourceDefinitions, &csv.Spec.APIServiceDefinitions
	apis := APIs{}
	for _, owned := range crds.Owned {
		_, group, ok := strings.Cut(owned.Name, ".")
		if !ok {
			return nil, fmt.Errorf("error parsing crd name: %s", owned.Name)
		}
		apis.Insert(schema.GroupVersionKind{Group: group, Version: owned.Version, Kind: owned.Kind})
	}
	for _, required := range crds.Required {
		if !strings.Contains(required.Name, ".") {
			return nil, fmt.Errorf("error parsing crd name: %s", required.Name)
		}
	}
	for _, owned := range services.Owned {
		apis.Insert(schema.GroupVersionKind{Group: owned.Group, Version: owned.Version, Kind: owned.Kind})
	}
	return apis, nil
}

// Prune returns the annotated APIs of a group that an operator in its namespace provides; copied operators do not
// count. It reports false if OLM does not prune: the group is static, or an operator that OLM has not checked yet
// provides an API that is not annotated.
func Prune(g *operatorsv1.OperatorGroup, csvs []*v1alpha1.ClusterServiceVersion) (APIs, bool) {
	annotated := Annotated(g)
	if g.Spec.StaticProvidedAPIs {
		return annotated, false
	}
	provided := APIs{}
	for _, csv := range csvs {
		if csv.IsCopied() {
			continue
		}
		apis, err := Provided(csv)
		if err != nil {
			continue
		}
		unchecked := csv.Status.Phase == v1alpha1.CSVPhaseNone || csv.Status.Phase == v1alpha1.CSVPhasePending
		if unchecked && csv.DeletionTimestamp == nil && !annotated.IsSuperset(apis) {
			return annotated, false
		}
		provided = provided.Union(apis)
	}
	return annotated.Intersection(provided), true
}
