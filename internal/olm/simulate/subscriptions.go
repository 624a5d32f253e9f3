package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/resolve"
)

// statusConditions are the conditions that the controller of Subscriptions sets.
var statusConditions = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionCatalogSourcesUnhealthy,
	v1alpha1.SubscriptionInstallPlanMissing,
	v1alpha1.SubscriptionInstallPlanPending,
	v1alpha1.SubscriptionInstallPlanFailed,
	v1alpha1.SubscriptionPackageDeprecated,
	v1alpha1.SubscriptionChannelDeprecated,
	v1alpha1.SubscriptionBundleDeprecated,
	v1alpha1.SubscriptionDeprecated,
}

// subscriptions updates the status of Subscriptions from their catalogs, InstallPlans and ClusterServiceVersions. If an
// InstallPlan or a ClusterServiceVersion changes the status, OLM resolves the namespace one step later.
func subscriptions(_ context.Context, r *run) error {
	for _, namespace := range r.due() {
		r.createOperators(namespace)
		health := r.request.Health(namespace)
		for _, s := range r.request.SyncedSubscriptions(namespace) {
			o, _ := r.State.Subscriptions.Get(namespace, s.Value.Name)
			before, installed := len(r.Events), o.Value.Status.InstalledCSV
			o = r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
				*status = *s.Value.Status.DeepCopy()
				r.setPlanPending(&o.Value.Status, status)
			}, computed("a Subscription follows its InstallPlan and its ClusterServiceVersion"))
			if len(r.Events) > before {
				r.synced[namespace] = r.Steps + 1
			}
			if o.Value.Status.InstalledCSV != installed {
				r.reported[keyOf(o.Value)] = r.Steps + 1
			}
			r.setStatus(o, func(status *v1alpha1.SubscriptionStatus) {
				setConditions(status, r.request.Conditions(o.Value))
				setHealth(status, health)
			}, computed("a Subscription shows its catalogs, its InstallPlan and deprecations"))
		}
	}
	return nil
}

// setPlanPending sets the condition of a Subscription about the InstallPlan that created it, if the simulation created
// both: in a cluster, that InstallPlan is still installing at this time.
func (r *run) setPlanPending(old, status *v1alpha1.SubscriptionStatus) {
	plan := install.PlanName(status)
	if plan == "" || plan == install.PlanName(old) {
		return
	}
	_, isOld := r.input.InstallPlans.Get(status.InstallPlanRef.Namespace, plan)
	if _, exists := r.State.InstallPlans.Get(status.InstallPlanRef.Namespace, plan); exists && !isOld {
		setCondition(status, resolve.Condition{
			Type: string(v1alpha1.SubscriptionInstallPlanPending), Status: metav1.ConditionTrue,
			Reason: string(v1alpha1.InstallPlanPhaseInstalling),
		})
	}
}

// due returns the namespaces with Subscriptions in which an object changed since they were last resolved.
func (r *run) due() []string {
	var names []string
	for _, name := range r.State.Subscriptions.Namespaces() {
		if last, ok := r.resolved[name]; !ok || r.changed[name] >= last {
			names = append(names, name)
		}
	}
	return names
}

// The minutes after which OLM resolves a namespace again: at the next sync if nothing that OLM watches has changed, and
// after a bundle could not be unpacked.
const (
	syncMinutes   = 15
	unpackMinutes = 5
)

// isLate reports whether OLM resolves a namespace again only at its next sync. OLM does not watch the phases of
// operators, and they are all that has changed in the namespace since the state was saved.
func (r *run) isLate(namespace string) bool {
	_, again := r.resolved[namespace]
	return again && !r.watched[namespace]
}

// hasLate reports whether the next sync resolves a namespace.
func (r *run) hasLate() bool { return slices.ContainsFunc(r.due(), r.isLate) }

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
	return update(r, o, func(s *v1alpha1.Subscription) { s.Status = status }, text, why)
}

// setConditions sets the given conditions, which are true, and removes the controller's other conditions. The condition
// about the health of catalogs is always set.
func setConditions(status *v1alpha1.SubscriptionStatus, conditions []resolve.Condition) {
	healthy := resolve.Condition{
		Type:    string(v1alpha1.SubscriptionCatalogSourcesUnhealthy),
		Status:  "False",
		Reason:  v1alpha1.AllCatalogSourcesHealthy,
		Message: "all available catalogsources are healthy",
	}
	all := append([]resolve.Condition{healthy}, conditions...)
	slices.Reverse(all) // the last condition of a type wins
	for _, of := range statusConditions {
		i := slices.IndexFunc(all, func(c resolve.Condition) bool { return c.Type == string(of) })
		if i < 0 {
			status.RemoveConditions(of)
			continue
		}
		setCondition(status, all[i])
	}
}

// setHealth sets the health of the catalogs, unless only times and versions of CatalogSources differ.
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

// setCondition sets a condition. It keeps the old times if nothing else changes.
func setCondition(status *v1alpha1.SubscriptionStatus, c resolve.Condition) {
	set := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
		Reason: c.Reason, Message: c.Message,
	}
	if !status.GetCondition(set.Type).Equals(set) {
		status.SetCondition(set)
	}
}

// statusChanges describes the differences between two statuses; "" means none.
func statusChanges(old, status *v1alpha1.SubscriptionStatus) string {
	var parts []string
	add := func(name, old, value string) {
		if old != value {
			parts = append(parts, name+" "+cmp.Or(value, "none"))
		}
	}
	add("state", string(old.State), string(status.State))
	add("currentCSV", old.CurrentCSV, status.CurrentCSV)
	add("installedCSV", old.InstalledCSV, status.InstalledCSV)
	add("InstallPlan", install.PlanName(old), install.PlanName(status))
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
	var unhealthy []string
	for _, h := range status.CatalogHealth {
		if !h.Healthy {
			unhealthy = append(unhealthy, healthName(h))
		}
	}
	if len(unhealthy) > 0 {
		parts = append(parts, "unhealthy catalogs: "+plural.Some(unhealthy))
	} else if len(parts) == 0 {
		parts = append(parts, "all catalogs are healthy")
	}
	return strings.Join(parts, ", ")
}

// conditionText describes a condition: Installed=False, reason Failed: No bundle installed.
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

// resolution resolves the namespaces: it reports failures in conditions, unpacks bundles, and creates InstallPlans.
func resolution(ctx context.Context, r *run) error {
	r.deleteOldPlans()
	var names []string
	for _, name := range r.due() {
		if r.synced[name] != r.Steps+1 && (r.syncing || !r.isLate(name)) {
			names = append(names, name)
		}
	}
	answers, err := r.request.Answers(ctx, names, r.opts.Resolve)
	if err != nil {
		return err
	}
	defer func() { r.delay = 0 }()
	for _, answer := range answers {
		r.delay = 0
		if r.isLate(answer.Name) {
			r.delay = syncMinutes
		}
		r.resolved[answer.Name] = r.Steps + 1
		delete(r.blocked, answer.Name)
		r.apply(answer)
	}
	return nil
}

// apply installs the bundles of an answer, or reports that there are none.
func (r *run) apply(answer *install.NamespaceResult) {
	if answer.OrderSensitive {
		r.assume("OLM may resolve namespace " + answer.Name + " differently: the result depends on a random order")
	}
	switch answer.Outcome {
	case resolve.Resolved:
		r.install(answer)
	case install.Waiting:
	case resolve.Undecided:
		r.block(answer, "an answer: "+answer.Message, NotEvaluable)
	default:
		r.block(answer, "a change, since it is not resolved: "+answer.Message, Computed)
		why := computed("OLM resolves all Subscriptions of a namespace together, and reports a failure in each of them")
		r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
			for _, c := range answer.Conditions {
				setCondition(status, c)
			}
		}, why)
	}
}

// A namespaceWait is the reason why the Subscriptions of a namespace wait, and the answer that the reason is from.
type namespaceWait struct {
	Wait
	answer *install.NamespaceResult
}

// block sets the reason why the Subscriptions of a namespace wait.
func (r *run) block(answer *install.NamespaceResult, what string, v Verdict) {
	r.blocked[answer.Name] = namespaceWait{Wait{For: what, Verdict: v}, answer}
}

// setAll changes the status of all Subscriptions of a namespace.
func (r *run) setAll(namespace string, change func(*v1alpha1.SubscriptionStatus), why reason) {
	for o := range r.State.Subscriptions.In(namespace) {
		r.setStatus(o, change, why)
	}
}

// install unpacks the bundles of an answer and then creates an InstallPlan for them. OLM creates none if the answer
// does not change a Subscription, as for an operator that was deleted by hand.
func (r *run) install(answer *install.NamespaceResult) {
	if len(answer.Updated) == 0 {
		if len(answer.Install) > 0 {
			r.block(answer, "a change of a Subscription: without one, OLM creates no InstallPlan for "+answer.Install[0].Bundle,
				Computed)
		}
		r.setAll(answer.Name, resolved, computed("the namespace is resolved"))
		return
	}
	if loop := r.answerLoop(answer); loop != "" {
		r.block(answer, "a bundle outside its update loop, "+loop, Computed)
		return
	}
	if !r.unpack(answer) {
		return
	}
	plan := r.createPlan(answer)
	why := computed("the bundle chosen for a Subscription becomes its currentCSV")
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
			r.request.SetPlan(status, answer.Name, plan.Name)
			status.State, status.CurrentCSV = v1alpha1.SubscriptionStateUpgradePending, updated.CurrentCSV
			status.InstallPlanGeneration = plan.Spec.Generation
		}, why)
		r.addHistory(RefTo(o.Value), updated.InstalledCSV, updated.CurrentCSV)
	}
}

// resolved removes the conditions about earlier failures and about unpacking.
func resolved(status *v1alpha1.SubscriptionStatus) {
	status.RemoveConditions(v1alpha1.SubscriptionBundleUnpacking, v1alpha1.SubscriptionBundleUnpackFailed,
		v1alpha1.SubscriptionResolutionFailed)
}

// answerLoop returns the first update loop of a Subscription that an answer would close, "" for none.
func (r *run) answerLoop(answer *install.NamespaceResult) string {
	for _, s := range answer.Updated {
		ref := Ref{v1alpha1.SubscriptionKind, answer.Name, s.Name}
		if loop := r.updateLoop(ref, s.CurrentCSV); loop != "" {
			return loop
		}
	}
	return ""
}

// unpack unpacks the bundles of an answer, and reports whether all are unpacked. Unpacking takes one step, once for
// each image. While a bundle cannot be unpacked, OLM installs nothing in the namespace.
func (r *run) unpack(answer *install.NamespaceResult) bool {
	var images, failing []string
	for _, c := range answer.Install {
		b, err := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle)
		if err == nil {
			_, err = b.objects(answer.Name)
		}
		if err != nil {
			message := fmt.Sprintf("bundle %s: %v", c.Bundle, err)
			r.block(answer, "a bundle that can be unpacked: "+message, Computed)
			r.unpackFailed(answer, "ErrorPreventedUnpacking", message, computed("OLM cannot read the manifests"))
			return false
		}
		if b.Image != "" {
			images = append(images, b.Image)
		}
		if slices.Contains(r.opts.FailUnpack, c.Bundle) {
			failing = append(failing, c.Bundle)
		}
	}
	isReported := len(failing) > 0 && r.haveCondition(answer.Name, v1alpha1.SubscriptionBundleUnpackFailed)
	if !isReported && r.startUnpacking(answer.Name, strings.Join(images, " ")) {
		return false
	}
	if len(failing) == 0 {
		return true
	}
	names := strings.Join(failing, ", ")
	r.block(answer, "the bundle image of "+names+", which cannot be unpacked", Assumed)
	r.unpackFailed(answer, "BundleUnpackFailed", jobFailed,
		assumed("nothing of the namespace is installed while one bundle cannot be unpacked: "+names))
	return false
}

// jobFailed is OLM's message about a Job that could not unpack the image of a bundle.
const jobFailed = "Bundle unpacking failed - BackoffLimitExceeded: Job has reached the specified backoff limit. " +
	"Auto-retry in ~5 min after job cleanup (TTL). Common causes: Missing ICSP (ppc64le/s390x/arm64), auth failure, " +
	"invalid image. Manual retry: in the CatalogSource namespace, run " +
	"`kubectl get jobs -l operatorframework.io/bundle-unpack-ref` and delete the specific failing job."

// startUnpacking starts to unpack the images of an answer, and reports whether the namespace has to wait for it.
func (r *run) startUnpacking(namespace, images string) bool {
	step, before := r.Steps+1, len(r.Events)
	if since, ok := r.unpacking[images]; images == "" || ok && since < step {
		return false
	}
	r.unpacking[images] = step
	if r.haveCondition(namespace, v1alpha1.SubscriptionBundleUnpackFailed) {
		r.delay = unpackMinutes
	}
	r.setAll(namespace, func(status *v1alpha1.SubscriptionStatus) {
		setCondition(status, resolve.Condition{
			Type: string(v1alpha1.SubscriptionBundleUnpacking), Status: metav1.ConditionTrue, Reason: "UnpackingInProgress",
		})
	}, computed("Jobs unpack the images of bundles before there is an InstallPlan"))
	return len(r.Events) > before // false if unpacking started before the state was saved
}

// unpackFailed sets the condition in all Subscriptions of a namespace that a bundle cannot be unpacked.
func (r *run) unpackFailed(answer *install.NamespaceResult, cause, message string, why reason) {
	r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
		status.RemoveConditions(v1alpha1.SubscriptionBundleUnpacking)
		setCondition(status, resolve.Condition{
			Type: string(v1alpha1.SubscriptionBundleUnpackFailed), Status: metav1.ConditionTrue, Reason: cause, Message: message,
		})
	}, why)
}

// haveCondition reports whether all Subscriptions of a namespace have a condition.
func (r *run) haveCondition(namespace string, of v1alpha1.SubscriptionConditionType) bool {
	for o := range r.State.Subscriptions.In(namespace) {
		if o.Value.Status.GetCondition(of).Status != "True" {
			return false
		}
	}
	return true
}

// waiting records the Subscriptions that wait, and the reasons.
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
			wait(r, o, "ClusterServiceVersion "+csv.Value.Name+", which is in phase "+
				cmp.Or(string(csv.Value.Status.Phase), "none"), Computed)
		case !installed, status.GetCondition(v1alpha1.SubscriptionInstallPlanFailed).Status == corev1.ConditionTrue:
			if o.Value.Status.InstallPlanRef == nil {
				continue
			}
			name := o.Value.Status.InstallPlanRef.Name
			what := "InstallPlan " + name + ", which does not exist"
			if p, ok := r.State.InstallPlans.Get(o.Value.Namespace, name); ok {
				what = "InstallPlan " + name + ", which is in phase " + string(p.Value.Status.Phase)
				if p.Value.Status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
					what = "approval of InstallPlan " + name
				}
			}
			wait(r, o, what, Computed)
		}
	}
	return nil
}
