package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// resolution resolves the namespaces: it sets the conditions of what fails, has bundles unpacked, and creates
// InstallPlans.
func resolution(ctx context.Context, r *run) error {
	for _, name := range slices.Clone(r.State.InstallPlans.Namespaces()) {
		r.collectPlans(name)
	}
	var names []string
	for _, name := range r.due() {
		if r.synced[name] != r.Steps+1 {
			names = append(names, name)
		}
	}
	answers, err := r.question.Answers(ctx, names, r.opts.Resolve)
	if err != nil {
		return err
	}
	for _, answer := range answers {
		r.resolved[answer.Name] = r.Steps + 1
		r.blocked[answer.Name] = Wait{}
		r.apply(answer)
	}
	return nil
}

// apply does what OLM does with an answer.
func (r *run) apply(answer *cluster.Namespace) {
	if answer.OrderSensitive {
		r.assume("OLM may resolve namespace " + answer.Name + " otherwise: the answer depends on a random order")
	}
	switch answer.Outcome {
	case resolve.Resolved:
		r.install(answer)
	case cluster.Waiting:
	case resolve.Undecided:
		r.block(answer, "an answer: "+answer.Message, NotEvaluable)
	default:
		r.block(answer, "a change, since it is not resolved: "+answer.Message, Computed)
		why := computed("OLM resolves all Subscriptions of a namespace together, and tells all of them why it cannot")
		r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
			for _, c := range answer.Conditions {
				setCondition(status, c)
			}
		}, why)
	}
}

// block says what the Subscriptions of a namespace wait for.
func (r *run) block(answer *cluster.Namespace, what string, v Verdict) {
	r.blocked[answer.Name] = Wait{For: what, Verdict: v}
}

// setAll changes the status of all Subscriptions of a namespace.
func (r *run) setAll(namespace string, change func(*v1alpha1.SubscriptionStatus), why reason) {
	for o := range r.State.Subscriptions.In(namespace) {
		r.setStatus(o, change, why)
	}
}

// install has the bundles of an answer unpacked and then creates an InstallPlan for them. OLM creates none if the
// answer changes no Subscription, as for an operator that someone deleted.
func (r *run) install(answer *cluster.Namespace) {
	if len(answer.Updated) == 0 {
		if len(answer.Install) > 0 {
			r.block(answer, "a change of a Subscription: without one, OLM creates no InstallPlan for "+answer.Install[0].Bundle,
				Computed)
		}
		r.setAll(answer.Name, resolved, computed("the namespace is resolved"))
		return
	}
	if circle := r.circle(answer); circle != "" {
		r.block(answer, "nothing: it is updated in a circle, "+circle, Computed)
		return
	}
	if !r.unpack(answer) {
		return
	}
	plan := r.createPlan(answer)
	why := computed("what is resolved for a Subscription becomes its currentCSV")
	for o := range r.State.Subscriptions.In(answer.Name) {
		i := slices.IndexFunc(answer.Updated, func(s resolve.Subscription) bool { return s.Name == o.Value.Name })
		if i < 0 {
			r.setStatus(o, resolved, why)
			continue
		}
		updated := answer.Updated[i]
		r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
			unpacking := status.GetCondition(v1alpha1.SubscriptionBundleUnpacking)
			resolved(status)
			if unpacking.Status == corev1.ConditionTrue { // OLM removes it at the next answer
				status.SetCondition(unpacking)
			}
			r.refer(status, answer.Name, plan.Name)
			status.State, status.CurrentCSV = v1alpha1.SubscriptionStateUpgradePending, updated.CurrentCSV
			status.InstallPlanGeneration = plan.Spec.Generation
		}, why)
		r.remember(refTo(o.Value), updated.InstalledCSV, updated.CurrentCSV)
	}
}

// resolved removes the conditions about what went wrong before, or is over.
func resolved(status *v1alpha1.SubscriptionStatus) {
	status.RemoveConditions(v1alpha1.SubscriptionBundleUnpacking, v1alpha1.SubscriptionBundleUnpackFailed,
		v1alpha1.SubscriptionResolutionFailed)
}

// installs says what an answer installs.
func installs(answer *cluster.Namespace) string {
	var names []string
	for _, c := range answer.Install {
		names = append(names, fmt.Sprintf("%s from catalog %s", c.Bundle, c.Catalog))
	}
	return strings.Join(names, ", ")
}

// circle returns how the Subscriptions of an answer are updated in a circle, "" if none of them is.
func (r *run) circle(answer *cluster.Namespace) string {
	for _, s := range answer.Updated {
		ref := Ref{v1alpha1.SubscriptionKind, answer.Name, s.Name}
		if circle := r.circleOf(ref, s.CurrentCSV); circle != "" {
			return circle
		}
	}
	return ""
}
