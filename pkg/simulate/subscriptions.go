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

// The conditions of Subscriptions that their own controller sets.
var watched = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionCatalogSourcesUnhealthy,
	v1alpha1.SubscriptionInstallPlanMissing,
	v1alpha1.SubscriptionInstallPlanPending,
	v1alpha1.SubscriptionInstallPlanFailed,
	v1alpha1.SubscriptionPackageDeprecated,
	v1alpha1.SubscriptionChannelDeprecated,
	v1alpha1.SubscriptionBundleDeprecated,
	v1alpha1.SubscriptionDeprecated,
}

// subscriptions writes into Subscriptions what became of their catalogs, InstallPlans and ClusterServiceVersions. Where
// the latter two change something, OLM waits a step before it resolves the namespace.
func subscriptions(_ context.Context, r *run) error {
	for _, namespace := range r.due() {
		for _, s := range r.question.Statuses(namespace) {
			o, _ := r.State.Subscriptions.Get(namespace, s.Name)
			before := len(r.Events)
			o = r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
				status.State, status.CurrentCSV, status.InstalledCSV = s.State, s.CurrentCSV, s.InstalledCSV
				if status.InstallPlanRef == nil && s.InstallPlan != "" {
					r.refer(status, namespace, s.InstallPlan)
				}
			}, computed("a Subscription follows its InstallPlan and its ClusterServiceVersion"))
			if len(r.Events) > before {
				r.synced[namespace] = r.Steps + 1
			}
			r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
				setWatched(status, s.Conditions)
			}, computed("a Subscription shows its catalogs, its InstallPlan, and what is deprecated"))
		}
	}
	return nil
}

// due returns the namespaces with Subscriptions in which an object changed since they were resolved last.
func (r *run) due() []string {
	var names []string
	for _, name := range r.State.Subscriptions.Namespaces() {
		if last, ok := r.resolved[name]; !ok || r.changed[name] >= last {
			names = append(names, name)
		}
	}
	return names
}

// refer makes a Subscription refer to an InstallPlan.
func (r *run) refer(status *v1alpha1.SubscriptionStatus, namespace, plan string) {
	ref := &corev1.ObjectReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.InstallPlanKind, Namespace: namespace, Name: plan,
	}
	if o, ok := r.State.InstallPlans.Get(namespace, plan); ok {
		ref.UID, ref.ResourceVersion = o.Value.UID, o.Value.ResourceVersion
	}
	status.InstallPlanRef, status.Install = ref, v1alpha1.NewInstallPlanReference(ref)
}

// setStatus changes the status of a Subscription.
func (r *run) setStatus(
	o cluster.Object[*v1alpha1.Subscription], change func(*v1alpha1.SubscriptionStatus), why reason,
) cluster.Object[*v1alpha1.Subscription] {
	status := *o.Value.Status.DeepCopy()
	change(&status)
	text := statusChanges(&o.Value.Status, &status)
	if text == "" {
		return o
	}
	return update(r, &r.State.Subscriptions, o, func(s *v1alpha1.Subscription) { s.Status = status }, text, why)
}

// setWatched sets the conditions that are true, and removes the others of the controller. The health of catalogs is
// always shown.
func setWatched(status *v1alpha1.SubscriptionStatus, conditions []resolve.Condition) {
	healthy := resolve.Condition{
		Type:    string(v1alpha1.SubscriptionCatalogSourcesUnhealthy),
		Status:  "False",
		Reason:  v1alpha1.AllCatalogSourcesHealthy,
		Message: "all available catalogsources are healthy",
	}
	all := append([]resolve.Condition{healthy}, conditions...)
	for _, of := range watched {
		isIt := func(c resolve.Condition) bool { return c.Type == string(of) }
		found := false
		for _, c := range slices.Backward(all) {
			if isIt(c) {
				setCondition(status, c)
				found = true
				break
			}
		}
		if !found {
			status.RemoveConditions(of)
		}
	}
}

// setCondition sets a condition unless it is set.
func setCondition(status *v1alpha1.SubscriptionStatus, c resolve.Condition) {
	set := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
		Reason: c.Reason, Message: c.Message,
	}
	if !status.GetCondition(set.Type).Equals(set) {
		status.SetCondition(set)
	}
}

// statusChanges says what is new in a status, "" if nothing is.
func statusChanges(old, status *v1alpha1.SubscriptionStatus) string {
	var parts []string
	add := func(name, old, value string) {
		if old != value {
			parts = append(parts, name+" "+orNone(value))
		}
	}
	add("state", string(old.State), string(status.State))
	add("currentCSV", old.CurrentCSV, status.CurrentCSV)
	add("installedCSV", old.InstalledCSV, status.InstalledCSV)
	add("InstallPlan", planName(old), planName(status))
	for _, c := range status.Conditions {
		if !old.GetCondition(c.Type).Equals(c) {
			parts = append(parts, conditionText(string(c.Type), string(c.Status), c.Reason, c.Message))
		}
	}
	for _, c := range old.Conditions {
		if status.GetCondition(c.Type).Status == corev1.ConditionUnknown && c.Status != corev1.ConditionUnknown {
			parts = append(parts, fmt.Sprintf("%s removed", c.Type))
		}
	}
	return strings.Join(parts, ", ")
}

func planName(status *v1alpha1.SubscriptionStatus) string {
	if status.InstallPlanRef == nil {
		return ""
	}
	return status.InstallPlanRef.Name
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// conditionText says what a condition is: Installed=False, reason Failed: No bundle installed.
func conditionText(of, status, reason, message string) string {
	text := of + "=" + status
	if reason != "" {
		text += ", reason " + reason
	}
	if message != "" {
		text += ": " + strings.TrimSpace(message)
	}
	return text
}
