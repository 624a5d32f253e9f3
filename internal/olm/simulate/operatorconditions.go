package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
)

const kindCondition = "OperatorCondition"

// operatorConditions creates an OperatorCondition for each operator, in which the operator reports whether it may be
// updated, and the permission to change it. An operator without deployments is one whose catalog lacks its manifests.
func operatorConditions(ctx context.Context, r *run) error {
	for o := range r.State.ClusterServiceVersions.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, strategy := o.Value, &o.Value.Spec.InstallStrategy.StrategySpec
		if c.IsCopied() || len(strategy.DeploymentSpecs) == 0 {
			continue
		}
		condition, text := stored(r, &operatorsv2.OperatorCondition{
			TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv2.GroupVersion.String(), Kind: kindCondition},
			ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace},
		}, c.Name)
		condition.OwnerReferences = operator.Controlled(operator.OwnedBy(c)[0])
		condition.Spec.ServiceAccounts, condition.Spec.Deployments = parts(strategy)
		r.put(condition, text, computed("operators report there whether they may be updated"))
		role, binding := rbac.ForCondition(condition)
		why := computed("the service accounts of an operator may change its OperatorCondition")
		create(r, "for "+c.Name, why, role)
		create(r, "for "+c.Name, why, binding)
	}
	return nil
}

// reportedConditions copies the conditions that operators report to the status of their OperatorConditions, which OLM
// reads.
func reportedConditions(_ context.Context, r *run) error {
	for o := range r.State.OperatorConditions.All() {
		reported := o.Value.Spec.Conditions
		for i, c := range reported {
			if meta.FindStatusCondition(reported, c.Type) != &reported[i] {
				continue // a cluster stores one condition of each type
			}
			copied := meta.FindStatusCondition(o.Value.Status.Conditions, c.Type)
			if copied != nil && copied.Status == c.Status && copied.ObservedGeneration == o.Value.Generation {
				continue
			}
			c.ObservedGeneration = o.Value.Generation
			text := conditionText(c.Type, string(c.Status), c.Reason, c.Message)
			o = update(r, o, func(condition *operatorsv2.OperatorCondition) {
				condition.Status.Conditions, _ = withCondition(condition.Status.Conditions, c)
			}, text, computed("the operator reports it in spec.conditions"))
		}
	}
	return nil
}

// withCondition sets a condition in a list and reports whether the list changes. If the new condition has no time or
// generation, it keeps the old ones: a simulation has no clock.
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

// parts returns the service accounts and the deployments of an operator. Like OLM's list, it has one account for each
// element of the permissions.
func parts(s *v1alpha1.StrategyDetailsDeployment) (accounts, deployments []string) {
	for _, p := range slices.Concat(s.ClusterPermissions, s.Permissions) {
		if p.ServiceAccountName != "" {
			accounts = append(accounts, p.ServiceAccountName)
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

// upgradeable returns the reason why an operator must not be replaced, nil if it may be.
func (ns *installed) upgradeable(o *csv) error {
	found, ok := ns.State.OperatorConditions.Get(o.Value.Namespace, o.Value.Name)
	if !ok {
		return nil
	}
	condition := found.Value
	if c := meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable); c != nil {
		if c.Status == metav1.ConditionTrue {
			return nil
		}
		return fmt.Errorf("the operator is not upgradeable: %s", c.Message)
	}
	c := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
	switch {
	case c == nil:
		return nil
	case c.ObservedGeneration != condition.Generation:
		return fmt.Errorf("the operatorcondition status %q=%q is outdated", c.Type, c.Status)
	case c.Status == metav1.ConditionFalse:
		return fmt.Errorf("the operator is not upgradeable: %s", c.Message)
	}
	return nil
}
