package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/pkg/cluster"
)

// plans approves and executes InstallPlans.
func plans(_ context.Context, r *run) error {
	for o := range r.State.InstallPlans.All() {
		status := &o.Value.Status
		if len(status.Plan) == 0 && len(status.BundleLookups) == 0 {
			continue // OLM fills it in before it looks at it
		}
		if status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
			o = r.approve(o)
		}
		if o.Value.Status.Phase == v1alpha1.InstallPlanPhaseInstalling {
			r.execute(o)
		}
	}
	return nil
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
	err := r.executeSteps(executed)
	text, why := "phase Complete", computed("all its objects are there")
	status := &executed.Status
	if err != nil {
		status.Phase, status.Message = v1alpha1.InstallPlanPhaseFailed, err.Error()
		status.SetCondition(v1alpha1.ConditionFailed(
			v1alpha1.InstallPlanInstalled, v1alpha1.InstallPlanReasonComponentFailed, err.Error(), nil))
		text, why = "phase Failed: "+err.Error(), computed("OLM gives up after a minute, and does not undo what it did")
	} else {
		status.Phase, status.Message = v1alpha1.InstallPlanPhaseComplete, ""
		status.SetCondition(v1alpha1.ConditionMet(v1alpha1.InstallPlanInstalled, nil))
	}
	update(r, &r.State.InstallPlans, o, func(p *v1alpha1.InstallPlan) { *p = *executed }, text, why)
}

func (r *run) executeSteps(plan *v1alpha1.InstallPlan) error {
	for _, step := range plan.Status.Plan {
		switch step.Status {
		case v1alpha1.StepStatusPresent, v1alpha1.StepStatusCreated:
			continue
		case v1alpha1.StepStatusUnknown, v1alpha1.StepStatusNotPresent, v1alpha1.StepStatusWaitingForAPI:
		default:
			return v1alpha1.ErrInvalidInstallPlan
		}
		status, err := r.executeStep(plan, step)
		step.Status = status
		if err != nil {
			return err
		}
	}
	return nil
}

// executeStep creates the object of a step.
func (r *run) executeStep(plan *v1alpha1.InstallPlan, step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	switch step.Resource.Kind {
	case v1alpha1.SubscriptionKind:
		return r.createSubscription(plan, step)
	case v1alpha1.ClusterServiceVersionKind:
		return r.createOperator(plan, step)
	}
	return v1alpha1.StepStatusCreated, nil
}

const (
	annotationGeneratedBy = "olm.generated-by"
	annotationProperties  = "operatorframework.io/properties"
	labelManaged          = "olm.managed"
)

func (r *run) createSubscription(plan *v1alpha1.InstallPlan, step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	s := new(v1alpha1.Subscription)
	if err := json.Unmarshal([]byte(step.Resource.Manifest), s); err != nil {
		return step.Status, fmt.Errorf("error parsing step manifest: %s: %w", step.Resource.Name, err)
	}
	if _, ok := r.State.Subscriptions.Get(plan.Namespace, s.Name); ok {
		return v1alpha1.StepStatusPresent, nil
	}
	s.Namespace = plan.Namespace
	s.Annotations = with(s.Annotations, annotationGeneratedBy, plan.Name)
	s.Labels = with(s.Labels, labelManaged, "true")
	create(r, &r.State.Subscriptions, s, fmt.Sprintf("for %s of package %s", s.Spec.StartingCSV, s.Spec.Package),
		computed("OLM subscribes to what it installs as a dependency"))
	return v1alpha1.StepStatusCreated, nil
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func (r *run) createOperator(plan *v1alpha1.InstallPlan, step *v1alpha1.Step) (v1alpha1.StepStatus, error) {
	if _, ok := r.State.ClusterServiceVersions.Get(plan.Namespace, step.Resource.Name); ok {
		return v1alpha1.StepStatusPresent, nil
	}
	b, err := r.bundle(step.Resource.CatalogSourceNamespace, step.Resource.CatalogSource, step.Resolving)
	if err != nil {
		return step.Status, err
	}
	csv := *b.CSV // which shares what is not changed
	csv.Namespace = plan.Namespace
	csv.Annotations = with(csv.Annotations, annotationProperties, propertiesText(b.Properties))
	csv.Labels = with(csv.Labels, labelManaged, "true")
	i := slices.IndexFunc(plan.Status.BundleLookups, func(l v1alpha1.BundleLookup) bool { return l.Identifier == csv.Name })
	if i >= 0 {
		csv.Spec.Replaces = plan.Status.BundleLookups[i].Replaces
	}
	if !slices.Contains(plan.Spec.ClusterServiceVersionNames, csv.Name) && r.competes(&csv) {
		return step.Status, fmt.Errorf("pre-existing CRD owners found for owned CRD(s) of dependent CSV %s", csv.Name)
	}
	text := "a new operator"
	if csv.Spec.Replaces != "" {
		text = "spec.replaces " + csv.Spec.Replaces
	}
	create(r, &r.State.ClusterServiceVersions, &csv, text, computed("InstallPlan "+plan.Name+" has it"))
	return v1alpha1.StepStatusCreated, nil
}

// competes reports whether another operator of the namespace owns a CustomResourceDefinition of this one.
func (r *run) competes(csv *v1alpha1.ClusterServiceVersion) bool {
	owns := map[string]bool{}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		owns[d.Name] = true
	}
	for o := range r.State.ClusterServiceVersions.In(csv.Namespace) {
		for _, d := range o.Value.Spec.CustomResourceDefinitions.Owned {
			if owns[d.Name] {
				return true
			}
		}
	}
	return false
}
