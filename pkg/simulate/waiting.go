package simulate

import (
	"context"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/pkg/cluster"
)

// waiting says what Subscriptions wait for.
func waiting(_ context.Context, r *run) error {
	for o := range r.State.Subscriptions.All() {
		namespace, status := o.Value.Namespace, &o.Value.Status
		if blocked := r.blocked[namespace]; blocked.For != "" {
			wait(r, o, blocked.For, blocked.Verdict)
			continue
		}
		csv, installed := r.State.ClusterServiceVersions.Get(namespace, status.CurrentCSV)
		switch {
		case installed && csv.Value.Status.Phase != v1alpha1.CSVPhaseSucceeded:
			wait(r, o, "ClusterServiceVersion "+csv.Value.Name+", which is in phase "+orNone(string(csv.Value.Status.Phase)),
				Computed)
		case !installed, status.GetCondition(v1alpha1.SubscriptionInstallPlanFailed).Status == corev1.ConditionTrue:
			r.waitForPlan(o)
		}
	}
	return nil
}

// waitForPlan says what a Subscription waits for whose InstallPlan is not complete.
func (r *run) waitForPlan(o cluster.Object[*v1alpha1.Subscription]) {
	if o.Value.Status.InstallPlanRef == nil {
		return
	}
	name := o.Value.Status.InstallPlanRef.Name
	what := "InstallPlan " + name + ", which is not there"
	if p, ok := r.State.InstallPlans.Get(o.Value.Namespace, name); ok {
		what = "InstallPlan " + name + ", which is in phase " + string(p.Value.Status.Phase)
		if p.Value.Status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
			what = "approval of InstallPlan " + name
		}
	}
	wait(r, o, what, Computed)
}
