package simulate

import (
	"context"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

const kindCondition = "OperatorCondition"

// operatorConditions gives each operator an OperatorCondition, in which it tells whether it may be updated, and the
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
