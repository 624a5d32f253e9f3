package simulate

import (
	"context"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// waiting says what Subscriptions wait for.
func waiting(_ context.Context, r *run) error {
	for o := range r.State.Subscriptions.All() {
		namespace, status := o.Value.Namespace, &o.Value.Status
		if blocked := r.blocked[namespace]; blocked.For != "" {
			wait(r, o, blocked.For, blocked.Verdict)
			continue
		}
		csv, ok := r.State.ClusterServiceVersions.Get(namespace, status.CurrentCSV)
		switch {
		case ok && csv.Value.Status.Phase == v1alpha1.CSVPhaseSucceeded:
		case ok:
			wait(r, o, "ClusterServiceVersion "+csv.Value.Name+", which is in phase "+orNone(string(csv.Value.Status.Phase)),
				Computed)
		case status.InstallPlanRef != nil:
			r.waitForPlan(o.Value)
		}
	}
	return nil
}

// waitForPlan says what a Subscription waits for whose operator an InstallPlan should create.
func (r *run) waitForPlan(s *v1alpha1.Subscription) {
	name := s.Status.InstallPlanRef.Name
	what := "InstallPlan " + name + ", which is not there"
	if p, ok := r.State.InstallPlans.Get(s.Namespace, name); ok {
		what = "InstallPlan " + name + ", which is in phase " + string(p.Value.Status.Phase)
		if p.Value.Status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
			what = "approval of InstallPlan " + name
		}
	}
	o, _ := r.State.Subscriptions.Get(s.Namespace, s.Name)
	wait(r, o, what, Computed)
}
