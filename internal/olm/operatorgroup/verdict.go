package operatorgroup

import (
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// A Result is OLM's conclusion from the APIs of an operator and of all groups. The values are OLM's names.
type Result string

// The results.
const (
	NoAPIConflict Result = "NoAPIConflict" // the operator continues
	AddAPIs       Result = "AddAPIs"       // its APIs are added to the annotation of its group
	RemoveAPIs    Result = "RemoveAPIs"    // its APIs are removed, since another provides one; APIConflict follows
	APIConflict   Result = "APIConflict"   // the operator fails
)

// A Verdict is OLM's decision about the APIs that an operator provides, with its effect on the operator and its group.
type Verdict struct {
	Result    Result
	Annotated APIs                   // the new annotation of the group
	Rivals    []types.NamespacedName // the groups that provide one of the APIs in a namespace of this group
	Failure   *Failure               // the failure of the operator, nil if it does not fail
}

// Decide returns the verdict about an operator of group g that provides these APIs. The group must be in the index.
func (x *Index) Decide(g *operatorsv1.OperatorGroup, apis APIs) Verdict {
	v := Verdict{Annotated: Annotated(g), Rivals: x.Rivals(Key(g), apis)}
	subset, intersecting := v.Annotated.IsSuperset(apis), len(v.Rivals) > 0
	switch {
	case subset && !intersecting:
		v.Result = NoAPIConflict
	case !subset && intersecting:
		v.Result = APIConflict
		v.Failure = &Failure{
			v1alpha1.CSVReasonInterOperatorGroupOwnerConflict, "intersecting operatorgroups provide the same apis",
		}
	case subset:
		v.Result = RemoveAPIs
	default:
		v.Result = AddAPIs
	}
	switch {
	case v.Result != AddAPIs && v.Result != RemoveAPIs:
	case g.Spec.StaticProvidedAPIs:
		v.Failure = &Failure{
			v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
			"static provided api operatorgroup cannot be modified by these apis",
		}
	case v.Result == AddAPIs:
		v.Annotated = v.Annotated.Union(apis)
		if Annotation(v.Annotated) == g.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey] {
			v.Result = NoAPIConflict // the annotation cannot represent an API, such as one with a space in its name
		}
	default:
		v.Annotated = v.Annotated.Difference(apis)
	}
	return v
}
