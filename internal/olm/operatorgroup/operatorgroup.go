// Package operatorgroup has the rules by which OperatorGroups share a cluster among operators: the namespaces that a
// group targets, the operators that are its members, and the conflicts of groups that provide the same APIs.
//
//	groups := operatorgroup.NewIndex(all...)
//	verdict := groups.Decide(group, apis)
//	if verdict.Failure != nil {
//		fmt.Println(verdict.Failure.Reason, verdict.Rivals)
//	}
//
// It follows OLM's code if its documentation differs, as it does about [intersections]: OLM compares the annotations of
// other groups with the APIs of an operator, not with the annotation of its group.
//
// [intersections]: https://olm.operatorframework.io/docs/advanced-tasks/operator-scoping-with-operatorgroups/
package operatorgroup

import (
	"fmt"
	"iter"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/internal/plural"
)

// Targets returns the names of the namespaces that a group targets, sorted; [""] means all, and there may be none. The
// namespaces in spec.targetNamespaces need not exist.
func Targets(g *operatorsv1.OperatorGroup, namespaces iter.Seq[*corev1.Namespace]) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(g.Spec.Selector)
	if err != nil {
		return nil, err
	}
	if named := g.Spec.TargetNamespaces; len(named) > 0 {
		if slices.Contains(named, metav1.NamespaceAll) {
			return nil, fmt.Errorf("TargetNamespaces cannot contain NamespaceAll: %v", named)
		}
		return slices.Compact(slices.Sorted(slices.Values(named))), nil
	}
	if g.Spec.Selector == nil || selector.Empty() {
		return []string{metav1.NamespaceAll}, nil
	}
	var targets []string
	for ns := range namespaces {
		if selector.Matches(labels.Set(ns.Labels)) {
			targets = append(targets, ns.Name)
		}
	}
	slices.Sort(targets)
	return targets, nil
}

// A Failure is the reason why OLM sets the phase of a ClusterServiceVersion to Failed, until the cause is removed.
type Failure struct {
	Reason  v1alpha1.ConditionReason `json:"reason"`
	Message string                   `json:"message"`
}

// Membership returns the reason why an operator cannot be a member of the OperatorGroup of its namespace, nil if it
// can. The arguments are all groups of the namespace, whose targets are in status.namespaces.
func Membership(csv *v1alpha1.ClusterServiceVersion, groups ...*operatorsv1.OperatorGroup) *Failure {
	switch len(groups) {
	case 0:
		return &Failure{v1alpha1.CSVReasonNoOperatorGroup, "csv in namespace with no operatorgroups"}
	case 1:
	default:
		return &Failure{
			v1alpha1.CSVReasonTooManyOperatorGroups,
			"csv created in namespace with multiple operatorgroups, can't pick one automatically",
		}
	}
	targets := groups[0].Status.Namespaces
	if len(targets) == 0 {
		return &Failure{
			v1alpha1.CSVReasonNoTargetNamespaces, "no targetNamespaces are matched operatorgroups namespace selection",
		}
	}
	modes, err := v1alpha1.NewInstallModeSet(csv.Spec.InstallModes)
	if err != nil {
		return &Failure{v1alpha1.CSVReasonInvalidInstallModes, err.Error()}
	}
	if err := modes.Supports(csv.Namespace, slices.Sorted(slices.Values(targets))); err != nil {
		return &Failure{v1alpha1.CSVReasonUnsupportedOperatorGroup, err.Error()}
	}
	return nil
}

// recoveryMessages are the messages of operators that no longer fail, by the reason of the failure.
var recoveryMessages = map[v1alpha1.ConditionReason]string{
	v1alpha1.CSVReasonNoOperatorGroup:                 "InstallModes now support target namespaces",
	v1alpha1.CSVReasonTooManyOperatorGroups:           "InstallModes now support target namespaces",
	v1alpha1.CSVReasonNoTargetNamespaces:              "InstallModes now support target namespaces",
	v1alpha1.CSVReasonUnsupportedOperatorGroup:        "InstallModes now support target namespaces",
	v1alpha1.CSVReasonInvalidInstallModes:             "InstallModes now support target namespaces",
	v1alpha1.CSVReasonInterOperatorGroupOwnerConflict: "OperatorGroup no longer intersecting with conflicting owner",
	v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs: "static OperatorGroup and intersecting groups now " +
		"support providedAPIs",
}

// Recovered returns the message with which an operator that failed for a reason of this package returns to the phase
// Pending. It reports false for other reasons.
func Recovered(reason v1alpha1.ConditionReason) (message string, ok bool) {
	message, ok = recoveryMessages[reason]
	return message, ok
}

// TargetText describes the namespaces that a group targets.
func TargetText(names []string) string {
	switch {
	case len(names) == 0:
		return "no namespaces"
	case slices.Contains(names, metav1.NamespaceAll):
		return "all namespaces"
	}
	return plural.Some(names)
}
