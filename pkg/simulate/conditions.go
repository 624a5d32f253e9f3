package simulate

import (
	"cmp"
	"context"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

const kindCondition = "OperatorCondition"

// operatorConditions gives each operator an OperatorCondition, in which it reports whether it may be updated, and the
// permission to do so. An operator without deployments is one whose catalog does not have its manifests.
func operatorConditions(ctx context.Context, r *run) error {
	for o := range r.State.ClusterServiceVersions.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !o.Value.IsCopied() && len(o.Value.Spec.InstallStrategy.StrategySpec.DeploymentSpecs) > 0 {
			r.conditionOf(o.Value)
		}
	}
	return nil
}

// reportedConditions copies the conditions that operators report to the status of their OperatorConditions, which OLM
// goes by.
func reportedConditions(_ context.Context, r *run) error {
	for o := range r.State.OperatorConditions.All() {
		reported := o.Value.Spec.Conditions
		for i, c := range reported {
			if meta.FindStatusCondition(reported, c.Type) != &reported[i] {
				continue // a cluster has one of each type
			}
			copied := meta.FindStatusCondition(o.Value.Status.Conditions, c.Type)
			if copied != nil && copied.Status == c.Status && copied.ObservedGeneration == o.Value.Generation {
				continue
			}
			c.ObservedGeneration = o.Value.Generation
			text := conditionText(c.Type, string(c.Status), c.Reason, c.Message)
			o = update(r, &r.State.OperatorConditions, o, func(condition *operatorsv2.OperatorCondition) {
				condition.Status.Conditions, _ = withCondition(condition.Status.Conditions, c)
			}, text, computed("the operator reports it in spec.conditions"))
		}
	}
	return nil
}

// withCondition returns conditions with one of them set, and reports whether that changes them. A time or generation
// that it does not have stays as it was before: a simulation knows none.
func withCondition(all []metav1.Condition, set metav1.Condition) (_ []metav1.Condition, changed bool) {
	i := slices.IndexFunc(all, func(c metav1.Condition) bool { return c.Type == set.Type })
	if i < 0 {
		return append(all, set), true
	}
	if set.LastTransitionTime.IsZero() {
		set.LastTransitionTime = all[i].LastTransitionTime
	}
	set.ObservedGeneration = cmp.Or(set.ObservedGeneration, all[i].ObservedGeneration)
	changed = all[i] != set
	all[i] = set
	return all, changed
}

func (r *run) conditionOf(c *v1alpha1.ClusterServiceVersion) {
	accounts, deployments := parts(&c.Spec.InstallStrategy.StrategySpec)
	condition := apply(r, &r.State.OperatorConditions, &operatorsv2.OperatorCondition{
		TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv2.GroupVersion.String(), Kind: kindCondition},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace},
	}, func(condition *operatorsv2.OperatorCondition) {
		condition.OwnerReferences = rbac.ControlledBy(c)
		condition.Spec.ServiceAccounts, condition.Spec.Deployments = accounts, deployments
	}, c.Name, computed("an operator tells OLM there whether it may be updated"))
	role, binding := rbac.ForCondition(condition)
	why := computed("the service accounts of an operator may change its OperatorCondition")
	ensure(r, &r.State.Roles, role, "for "+c.Name, why)
	ensure(r, &r.State.RoleBindings, binding, "for "+c.Name, why)
}

// parts returns the service accounts of an operator, one for each of its permissions as OLM lists them, and its
// deployments.
func parts(s *v1alpha1.StrategyDetailsDeployment) (accounts, deployments []string) {
	for _, all := range [][]v1alpha1.StrategyDeploymentPermissions{s.ClusterPermissions, s.Permissions} {
		for _, p := range all {
			if p.ServiceAccountName != "" {
				accounts = append(accounts, p.ServiceAccountName)
			}
		}
	}
	if len(accounts) == 0 {
		accounts = []string{"default"}
	}
	for _, d := range s.DeploymentSpecs {
		if d.Name != "" {
			deployments = append(deployments, d.Name)
		}
	}
	return accounts, deployments
}
