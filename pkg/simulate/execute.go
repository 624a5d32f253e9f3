package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/opm-toolchain/opm/pkg/cluster"
)

// plans approves and executes InstallPlans.
func plans(_ context.Context, r *run) error {
	for o := range r.State.InstallPlans.All() {
		status := &o.Value.Status
		isEmpty := len(status.Plan) == 0 && len(status.BundleLookups) == 0 // OLM fills it in before it looks at it
		if isEmpty || isDone(o.Value) {
			continue
		}
		o, ok := r.checkGroup(o)
		if !ok {
			continue
		}
		if o.Value.Status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
			o = r.approve(o)
		}
		if o.Value.Status.Phase == v1alpha1.InstallPlanPhaseInstalling {
			r.execute(o)
		}
	}
	return nil
}

func isDone(p *v1alpha1.InstallPlan) bool {
	return p.Status.Phase == v1alpha1.InstallPlanPhaseComplete || p.Status.Phase == v1alpha1.InstallPlanPhaseFailed
}

// approve starts an InstallPlan that is approved, and returns it as it is then.
func (r *run) approve(o cluster.Object[*v1alpha1.InstallPlan]) cluster.Object[*v1alpha1.InstallPlan] {
	if r.opts.Approve && !o.Value.Spec.Approved {
		o = update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) {
			p.Spec.Approved = true
		}, "approved", assumed("someone approves InstallPlans"))
	}
	if !o.Value.Spec.Approved {
		return o
	}
	return update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) {
		p.Status.Phase, p.Status.Message = v1alpha1.InstallPlanPhaseInstalling, ""
	}, "phase Installing", computed("it is approved"))
}

// execute executes the steps of an InstallPlan, and says how that ends. OLM repeats what fails for a minute.
func (r *run) execute(o cluster.Object[*v1alpha1.InstallPlan]) {
	executed := o.Value.DeepCopy()
	x := &execution{
		account: account{r, executed.Status.AttenuatedServiceAccountRef, sync.OnceValue(r.authorizer)},
		plan:    executed, objects: map[string][]cluster.Kubernetes{},
	}
	err := x.take()
	if apierrors.IsForbidden(err) {
		r.forbidden(o, executed, err)
		return
	}
	text, why := "phase Complete", computed("all its objects are there")
	status := &executed.Status
	if err != nil {
		status.Phase, status.Message = v1alpha1.InstallPlanPhaseFailed, err.Error()
		status.SetCondition(v1alpha1.ConditionFailed(
			v1alpha1.InstallPlanInstalled, v1alpha1.InstallPlanReasonComponentFailed, err.Error(), nil))
		text, why = "phase Failed: "+err.Error(), computed("OLM gives up after a minute, and does not undo what it did")
		switch {
		case apierrors.IsNotFound(err):
			why = computed("Kubernetes does not serve CustomResourceDefinitions of apiextensions.k8s.io/v1beta1 since 1.22")
		case errors.Is(err, v1alpha1.ErrInvalidInstallPlan):
			why = computed(invalidStep(executed))
		}
	} else {
		status.Phase, status.Message = v1alpha1.InstallPlanPhaseComplete, ""
		status.SetCondition(v1alpha1.ConditionMet(v1alpha1.InstallPlanInstalled, nil))
	}
	update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) { *p = *executed }, text, why)
}

// invalidStep returns which step of an InstallPlan OLM cannot take.
func invalidStep(p *v1alpha1.InstallPlan) string {
	for _, step := range p.Status.Plan {
		if !slices.Contains(stepStatuses, step.Status) {
			return fmt.Sprintf("the step for %s %s of %s has status %s", step.Resource.Kind, step.Resource.Name, step.Resolving,
				step.Status)
		}
	}
	return ""
}

// forbidden says what an InstallPlan waits for if its service account may not create one of its objects.
func (r *run) forbidden(o cluster.Object[*v1alpha1.InstallPlan], executed *v1alpha1.InstallPlan, err error) {
	executed.Status.Message = "retrying execution due to error: " + err.Error()
	o = update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) { *p = *executed }, executed.Status.Message,
		computed("OLM creates objects as the service account of the OperatorGroup, and retries what is forbidden for ever"))
	wait(r, o, "permissions of its service account: "+err.Error(), Computed)
}
