package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

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
		r.addOperators(namespace)
		for _, s := range r.question.Statuses(namespace) {
			o, _ := r.State.Subscriptions.Get(namespace, s.Name)
			before, installed := len(r.Events), o.Value.Status.InstalledCSV
			o = r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
				status.State, status.CurrentCSV, status.InstalledCSV = s.State, s.CurrentCSV, s.InstalledCSV
				switch {
				case s.InstallPlan == "":
					status.InstallPlanRef, status.Install = nil, nil
				case status.InstallPlanRef == nil:
					r.refer(status, namespace, s.InstallPlan)
					r.generated(status, s.InstallPlan)
				}
			}, computed("a Subscription follows its InstallPlan and its ClusterServiceVersion"))
			if len(r.Events) > before {
				r.synced[namespace] = r.Steps + 1
			}
			if o.Value.Status.InstalledCSV != installed {
				r.reported[keyOf(o.Value)] = r.Steps + 1
			}
			r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
				setWatched(status, s.Conditions, isGenerated(o.Value))
				setHealth(status, s.Health)
			}, computed("a Subscription shows its catalogs, its InstallPlan, and what is deprecated"))
		}
	}
	return nil
}

// generated sets the condition of a Subscription about the InstallPlan that created it. In a cluster that was still
// installing then.
func (r *run) generated(status *v1alpha1.SubscriptionStatus, plan string) {
	phase := v1alpha1.InstallPlanPhaseInstalling
	if old, ok := r.input.InstallPlans.Get(status.InstallPlanRef.Namespace, plan); ok {
		if isDone(old.Value) {
			return
		}
		phase = old.Value.Status.Phase
	}
	setCondition(status, resolve.Condition{
		Type: string(v1alpha1.SubscriptionInstallPlanPending), Status: metav1.ConditionTrue, Reason: string(phase),
	})
}

// isGenerated reports whether a Subscription refers to the InstallPlan that created it. It is not an owner of that
// InstallPlan, and so OLM does not look at it when the InstallPlan is complete.
func isGenerated(s *v1alpha1.Subscription) bool {
	by := s.Annotations[annotationGeneratedBy]
	return by != "" && planName(&s.Status) == by
}

// operatorKind is the kind of the objects that list what belongs to an operator.
var operatorKind = schema.GroupKind{Group: operatorsv1.GroupVersion.Group, Kind: "Operator"}

// addOperators creates the Operators of the Subscriptions of a namespace. Their status, the list of the objects that
// belong to an operator, is not simulated.
func (r *run) addOperators(namespace string) {
	for o := range r.State.Subscriptions.In(namespace) {
		operator := &operatorsv1.Operator{
			TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv1.GroupVersion.String(), Kind: operatorKind.Kind},
			ObjectMeta: metav1.ObjectMeta{Name: operatorName(o.Value)},
		}
		if _, ok := r.State.Get(operatorKind, "", operator.Name); !ok {
			r.put(untyped(operator), "for Subscription "+o.Value.Name, computed("each operator of a namespace has an Operator"))
		}
	}
}

// operatorName returns the name of the Operator of a Subscription. OLM takes it from a label, whose key has 63
// characters.
func operatorName(s *v1alpha1.Subscription) string {
	name := s.Spec.Package + "." + s.Namespace
	return strings.TrimRight(name[:min(len(name), validation.LabelValueMaxLength)], "-_.")
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

// aboutPlan are the conditions about the InstallPlan.
var aboutPlan = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionInstallPlanMissing, v1alpha1.SubscriptionInstallPlanPending,
	v1alpha1.SubscriptionInstallPlanFailed,
}

// setWatched sets the conditions that are true, and removes the others of the controller. The health of catalogs is
// always shown. The conditions about an InstallPlan stay if the Subscription was generated by it.
func setWatched(status *v1alpha1.SubscriptionStatus, conditions []resolve.Condition, generated bool) {
	healthy := resolve.Condition{
		Type:    string(v1alpha1.SubscriptionCatalogSourcesUnhealthy),
		Status:  "False",
		Reason:  v1alpha1.AllCatalogSourcesHealthy,
		Message: "all available catalogsources are healthy",
	}
	all := append([]resolve.Condition{healthy}, conditions...)
	for _, of := range watched {
		if generated && slices.Contains(aboutPlan, of) {
			continue
		}
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

// setHealth sets the health of the catalogs. The versions of CatalogSources, and the times, stay if nothing else is
// new.
func setHealth(status *v1alpha1.SubscriptionStatus, health []v1alpha1.SubscriptionCatalogHealth) {
	old := slices.SortedFunc(slices.Values(status.CatalogHealth), func(a, b v1alpha1.SubscriptionCatalogHealth) int {
		return strings.Compare(healthName(a), healthName(b))
	})
	if !slices.EqualFunc(old, health, sameHealth) {
		status.CatalogHealth = health
	}
}

func sameHealth(a, b v1alpha1.SubscriptionCatalogHealth) bool {
	return healthName(a) == healthName(b) && a.Healthy == b.Healthy
}

// healthName returns the namespace and the name of a catalog.
func healthName(h v1alpha1.SubscriptionCatalogHealth) string {
	if h.CatalogSourceRef == nil {
		return ""
	}
	return h.CatalogSourceRef.Namespace + "/" + h.CatalogSourceRef.Name
}

// unhealthyCatalogs returns the names of the catalogs that are not healthy.
func unhealthyCatalogs(all []v1alpha1.SubscriptionCatalogHealth) []string {
	var names []string
	for _, h := range all {
		if !h.Healthy {
			names = append(names, healthName(h))
		}
	}
	return names
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
	if slices.EqualFunc(old.CatalogHealth, status.CatalogHealth, sameHealth) {
		return strings.Join(parts, ", ")
	}
	if unhealthy := unhealthyCatalogs(status.CatalogHealth); len(unhealthy) > 0 {
		parts = append(parts, "unhealthy catalogs: "+some(unhealthy))
	} else if len(parts) == 0 {
		parts = append(parts, "all catalogs are healthy")
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
