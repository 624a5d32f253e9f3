package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// resolution resolves the namespaces: it sets the conditions of what fails, has bundles unpacked, and creates
// InstallPlans.
func resolution(ctx context.Context, r *run) error {
	var names []string
	for _, name := range r.due() {
		if r.synced[name] == r.Steps+1 {
			continue
		}
		names = append(names, name)
		r.collectPlans(name)
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
		r.blocked[answer.Name] = Wait{For: "an answer: " + answer.Message, Verdict: NotEvaluable}
	default:
		r.blocked[answer.Name] = Wait{For: "a change, since it is not resolved: " + answer.Message, Verdict: Computed}
		why := computed("OLM resolves all Subscriptions of a namespace together, and tells all of them why it cannot")
		r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
			for _, c := range answer.Conditions {
				setCondition(status, c)
			}
		}, why)
	}
}

// setAll changes the status of all Subscriptions of a namespace.
func (r *run) setAll(namespace string, change func(*v1alpha1.SubscriptionStatus), why reason) {
	for o := range r.State.Subscriptions.In(namespace) {
		r.setStatus(o, change, why)
	}
}

// install has the bundles of an answer unpacked and then creates an InstallPlan for them. OLM creates none if the answer
// changes no Subscription, as for an operator that someone deleted.
func (r *run) install(answer *cluster.Namespace) {
	if len(answer.Updated) > 0 {
		if circle := r.circle(answer); circle != "" {
			r.blocked[answer.Name] = Wait{For: "nothing: it is updated in a circle, " + circle, Verdict: Computed}
			return
		}
		if !r.unpack(answer) {
			return
		}
	}
	if len(answer.Install) > 0 && len(answer.Updated) == 0 {
		r.blocked[answer.Name] = Wait{
			For:     "a change of a Subscription: without one, OLM creates no InstallPlan for " + answer.Install[0].Bundle,
			Verdict: Computed,
		}
	}
	plan := ""
	if len(answer.Updated) > 0 {
		plan = r.createPlan(answer)
	}
	for o := range r.State.Subscriptions.In(answer.Name) {
		i := slices.IndexFunc(answer.Updated, func(s resolve.Subscription) bool { return s.Name == o.Value.Name })
		r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
			status.RemoveConditions(v1alpha1.SubscriptionBundleUnpacking, v1alpha1.SubscriptionBundleUnpackFailed,
				v1alpha1.SubscriptionResolutionFailed)
			if i < 0 {
				return
			}
			r.refer(status, answer.Name, plan)
			status.State, status.CurrentCSV = v1alpha1.SubscriptionStateUpgradePending, answer.Updated[i].CurrentCSV
			p, _ := r.State.InstallPlans.Get(answer.Name, plan)
			status.InstallPlanGeneration = p.Value.Spec.Generation
		}, computed("what is resolved for a Subscription becomes its currentCSV"))
	}
	for _, s := range answer.Updated {
		r.remember(Ref{v1alpha1.SubscriptionKind, answer.Name, s.Name}, s.InstalledCSV, s.CurrentCSV)
	}
}

// unpack has the bundles of an answer unpacked, and reports whether all are.
func (r *run) unpack(answer *cluster.Namespace) bool {
	var failing []string
	for _, c := range answer.Install {
		if slices.Contains(r.opts.FailUnpack, c.Bundle) {
			failing = append(failing, c.Bundle)
		}
	}
	if err := r.unpackable(answer); err != nil {
		r.blocked[answer.Name] = Wait{For: "a bundle that can be unpacked: " + err.Error(), Verdict: Computed}
		r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
			setCondition(status, resolve.Condition{
				Type: string(v1alpha1.SubscriptionBundleUnpackFailed), Status: metav1.ConditionTrue,
				Reason: "ErrorPreventedUnpacking", Message: err.Error(),
			})
		}, computed("OLM cannot read the manifests of the bundle"))
		return false
	}
	key, step := r.images(answer), r.Steps+1
	if since, ok := r.unpacking[key]; key != "" && (!ok || since == step) {
		r.unpacking[key] = step
		if !r.tells(answer.Name, v1alpha1.SubscriptionBundleUnpackFailed) || len(failing) == 0 {
			r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
				setCondition(status, resolve.Condition{
					Type:   string(v1alpha1.SubscriptionBundleUnpacking),
					Status: metav1.ConditionTrue, Reason: "UnpackingInProgress",
				})
			}, computed("a Job unpacks the image of a bundle before there is an InstallPlan: "+installs(answer)))
			return false
		}
	}
	if len(failing) == 0 {
		return true
	}
	names := strings.Join(failing, ", ")
	r.blocked[answer.Name] = Wait{For: "the bundle image of " + names + ", which cannot be unpacked", Verdict: Assumed}
	r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
		status.RemoveConditions(v1alpha1.SubscriptionBundleUnpacking)
		setCondition(status, resolve.Condition{
			Type: string(v1alpha1.SubscriptionBundleUnpackFailed), Status: metav1.ConditionTrue, Reason: "BundleUnpackFailed",
			Message: "bundle unpacking failed. Reason: DeadlineExceeded, and Message: Job was active longer than specified deadline",
		})
	}, assumed("nothing of the namespace is installed while one bundle cannot be unpacked: "+names))
	return false
}

// unpackable returns an error about a bundle whose manifests cannot be read.
func (r *run) unpackable(answer *cluster.Namespace) error {
	for _, c := range answer.Install {
		b, err := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle)
		if err == nil {
			_, err = b.objects(answer.Name)
		}
		if err != nil {
			return fmt.Errorf("bundle %s: %w", c.Bundle, err)
		}
	}
	return nil
}

// tells reports whether all Subscriptions of a namespace have a condition.
func (r *run) tells(namespace string, of v1alpha1.SubscriptionConditionType) bool {
	for o := range r.State.Subscriptions.In(namespace) {
		if o.Value.Status.GetCondition(of).Status != "True" {
			return false
		}
	}
	return true
}

// images returns the images of what an answer installs, as a key.
func (r *run) images(answer *cluster.Namespace) string {
	var images []string
	for _, c := range answer.Install {
		if b, _ := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle); b.Image != "" {
			images = append(images, b.Image)
		}
	}
	return strings.Join(images, " ")
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
