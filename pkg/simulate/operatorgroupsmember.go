package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/cluster/operatorgroup"
)

// admit decides about all operators that are not copies: which of them are members of the group of their namespace.
func (g *grouping) admit(ctx context.Context) error {
	for _, namespace := range slices.Clone(g.State.ClusterServiceVersions.Namespaces()) {
		groups := slices.Collect(g.State.OperatorGroups.In(namespace))
		for o := range g.State.ClusterServiceVersions.In(namespace) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !o.Value.IsCopied() && o.Value.Status.Reason != v1alpha1.CSVReasonComponentFailedNoRetry {
				g.decide(o, groups)
			}
		}
	}
	return nil
}

// decide decides about an operator. OLM does nothing with those whose APIs it cannot read.
func (g *grouping) decide(o csv, groups []group) {
	apis, err := operatorgroup.Provided(o.Value)
	if err != nil {
		return
	}
	var values []*operatorsv1.OperatorGroup
	for _, og := range groups {
		values = append(values, og.Value)
	}
	if len(groups) == 1 {
		o = g.annotate(o, groups[0].Value)
	} else if latest := g.latest[o.Value.Namespace]; latest != nil {
		o = g.annotate(o, latest) // each group does so when its targets change
	}
	if failure := operatorgroup.Membership(o.Value, values...); failure != nil {
		g.fail(o, failure, computed(whyNoMember[failure.Reason]))
		return
	}
	verdict := g.agree(o, groups[0], apis)
	if verdict.Failure != nil {
		g.fail(o, verdict.Failure, g.whyConflict(groups[0].Value, apis, verdict))
		g.removeDeployments(o.Value)
		return
	}
	message, failed := operatorgroup.Recovered(o.Value.Status.Reason)
	if failed && o.Value.Status.Phase == v1alpha1.CSVPhaseFailed {
		g.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonRequirementsUnknown, message,
			computed("what it failed for is over"))
	}
}

// whyNoMember are the rules about members.
var whyNoMember = map[v1alpha1.ConditionReason]string{
	v1alpha1.CSVReasonNoOperatorGroup:          "operators need an OperatorGroup in their namespace",
	v1alpha1.CSVReasonTooManyOperatorGroups:    "operators need exactly one OperatorGroup in their namespace",
	v1alpha1.CSVReasonNoTargetNamespaces:       "the OperatorGroup of the namespace targets nothing",
	v1alpha1.CSVReasonInvalidInstallModes:      "each install mode is listed once",
	v1alpha1.CSVReasonUnsupportedOperatorGroup: "the install modes of an operator must fit what its OperatorGroup targets",
}

// annotate writes the group into the annotations of an operator.
func (g *grouping) annotate(o csv, og *operatorsv1.OperatorGroup) csv {
	wanted := map[string]string{
		operatorsv1.OperatorGroupAnnotationKey:          og.Name,
		operatorsv1.OperatorGroupNamespaceAnnotationKey: og.Namespace,
	}
	if og.Status.Namespaces != nil {
		wanted[operatorsv1.OperatorGroupTargetsAnnotationKey] = og.BuildTargetNamespaces()
	}
	same := true
	for key, value := range wanted {
		found, ok := o.Value.Annotations[key]
		same = same && ok && found == value
	}
	if same {
		return o
	}
	return update(g.run, &g.State.ClusterServiceVersions, o, func(c *v1alpha1.ClusterServiceVersion) {
		for key, value := range wanted {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value)
		}
	}, fmt.Sprintf("annotations of OperatorGroup %s, which targets %s", og.Name, targetsOf(og.Status.Namespaces)),
		computed("operators belong to the OperatorGroup of their namespace"))
}

// agree returns the verdict about an operator that provides these APIs, after its group has changed as it says.
func (g *grouping) agree(o csv, og group, apis operatorgroup.APIs) operatorgroup.Verdict {
	for {
		og, _ = g.State.OperatorGroups.Get(og.Value.Namespace, og.Value.Name)
		v := g.index.Decide(og.Value, apis)
		if v.Failure != nil {
			return v
		}
		key := keyOf(og.Value)
		switch v.Result {
		case operatorgroup.AddAPIs:
			g.first[key] = g.first[key].Union(v.Annotated.Difference(operatorgroup.Annotated(og.Value)))
			g.provide(og, v.Annotated,
				"ClusterServiceVersion "+o.Value.Name+" provides them, and no other OperatorGroup does so there")
		case operatorgroup.RemoveAPIs:
			for _, rival := range v.Rivals {
				if !g.groups[rival].Spec.StaticProvidedAPIs {
					g.first[rival] = g.first[rival].Union(apis)
				}
			}
			g.provide(og, v.Annotated, "another OperatorGroup provides them there, too: "+namesOf(v.Rivals))
		default:
			return v
		}
	}
}

// provide sets the annotation of a group.
func (g *grouping) provide(og group, apis operatorgroup.APIs, why string) {
	const key = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
	text := operatorgroup.Annotation(apis)
	g.know(update(g.run, &g.State.OperatorGroups, og, func(og *operatorsv1.OperatorGroup) {
		metav1.SetMetaDataAnnotation(&og.ObjectMeta, key, text)
	}, "annotation "+key+": "+orNone(strings.ReplaceAll(text, ",", ", ")), computed(why)))
}

// whyConflict says which groups are in the way of an operator, and whether that depends on the order in which OLM looks
// at operators.
func (g *grouping) whyConflict(og *operatorsv1.OperatorGroup, apis operatorgroup.APIs, v operatorgroup.Verdict) reason {
	if len(v.Rivals) == 0 {
		return computed("OLM does not change what a static OperatorGroup provides")
	}
	why := "OperatorGroups that provide one of its APIs where " + og.Name + " does: " + namesOf(v.Rivals)
	for _, rival := range v.Rivals {
		if g.first[rival].HasAny(apis.UnsortedList()...) {
			g.assume(fmt.Sprintf("OLM looks at the operators of OperatorGroup %s before those of %s, which provide the same "+
				"APIs; in a cluster it may be the other way round, and the former fail", rival, keyOf(og)))
			return assumed(why)
		}
	}
	return computed(why)
}

func namesOf(groups []types.NamespacedName) string {
	var names []string
	for _, name := range groups {
		names = append(names, name.String())
	}
	return some(names)
}

// fail sets the phase of an operator to Failed, and waits for a change.
func (g *grouping) fail(o csv, failure *operatorgroup.Failure, why reason) {
	conflict := v1alpha1.CSVReasonInterOperatorGroupOwnerConflict
	isStatic := failure.Reason == v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs
	if !isStatic || o.Value.Status.Reason != conflict { // which OLM leaves as it is
		o = g.phase(o, v1alpha1.CSVPhaseFailed, failure.Reason, failure.Message, why)
	}
	wait(g.run, o, "a change, since it failed: "+failure.Message, why.verdict)
}

// removeDeployments deletes what an operator runs.
func (g *grouping) removeDeployments(c *v1alpha1.ClusterServiceVersion) {
	for _, d := range c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if o, ok := g.State.Deployments.Get(c.Namespace, d.Name); ok {
			remove(g.run, &g.State.Deployments, o, "of ClusterServiceVersion "+c.Name,
				computed("an operator does not run while other OperatorGroups provide its APIs"))
		}
	}
}

// prune removes the APIs from the annotation of each group that no operator of its namespace provides any more.
func (g *grouping) prune() {
	for _, o := range slices.Collect(g.State.OperatorGroups.All()) {
		apis, ok := operatorgroup.Prune(o.Value, func(yield func(*v1alpha1.ClusterServiceVersion) bool) {
			for c := range g.State.ClusterServiceVersions.In(o.Value.Namespace) {
				if !yield(c.Value) {
					return
				}
			}
		})
		if ok && !apis.Equal(operatorgroup.Annotated(o.Value)) {
			g.provide(o, apis, "no operator of the namespace provides the others")
		}
	}
}
