package simulate

import (
	"errors"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/pkg/cluster"
)

// checkGroup checks that the OperatorGroup of an InstallPlan is there, with its service account, and reports whether it
// is. The InstallPlan says so, and refers to the service account.
func (r *run) checkGroup(o cluster.Object[*v1alpha1.InstallPlan]) (cluster.Object[*v1alpha1.InstallPlan], bool) {
	account, err := r.accountOf(o.Value.Namespace)
	why := computed("OLM looks for the OperatorGroup, and for the service account that it names, again and again")
	if err != nil {
		text := conditionText(string(v1alpha1.InstallPlanInstalled), "False",
			string(v1alpha1.InstallPlanReasonInstallCheckFailed), err.Error())
		return update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) {
			old := p.Status.GetCondition(v1alpha1.InstallPlanInstalled)
			if old.Reason != v1alpha1.InstallPlanReasonInstallCheckFailed || old.Message != err.Error() {
				p.Status.SetCondition(v1alpha1.ConditionFailed(
					v1alpha1.InstallPlanInstalled, v1alpha1.InstallPlanReasonInstallCheckFailed, err.Error(), nil))
			}
		}, text, why), false
	}
	o = update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) {
		if p.Status.GetCondition(v1alpha1.InstallPlanInstalled).Reason == v1alpha1.InstallPlanReasonInstallCheckFailed {
			p.Status.SetCondition(v1alpha1.ConditionFailed(v1alpha1.InstallPlanInstalled, "Unknown", "", nil))
		}
	}, "the OperatorGroup is there", why)
	if account == nil {
		return o, true
	}
	return update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) {
		p.Status.AttenuatedServiceAccountRef = account
	}, "by service account "+account.Name, computed("the OperatorGroup names it")), true
}

// accountOf returns the service account with which OLM creates objects in a namespace, nil for its own.
func (r *run) accountOf(namespace string) (*corev1.ObjectReference, error) {
	var groups []*operatorsv1.OperatorGroup
	for o := range r.State.OperatorGroups.In(namespace) {
		if len(o.Value.Status.Namespaces) > 0 {
			groups = append(groups, o.Value)
		}
	}
	switch len(groups) {
	case 0:
		return nil, errors.New("no operator group found that is managing this namespace")
	case 1:
	default:
		return nil, fmt.Errorf("more than one operator group(s) are managing this namespace count=%d", len(groups))
	}
	name := groups[0].Spec.ServiceAccountName
	if name == "" {
		return nil, nil
	}
	o, ok := r.State.ServiceAccounts.Get(namespace, name)
	if !ok {
		return nil, fmt.Errorf("please make sure the service account exists. sa=%s operatorgroup=%s/%s",
			name, namespace, groups[0].Name)
	}
	return accountRef(o.Value), nil
}

func accountRef(a *corev1.ServiceAccount) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ServiceAccount", Namespace: a.Namespace, Name: a.Name, UID: a.UID,
		ResourceVersion: a.ResourceVersion,
	}
}
