package install

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Conditions returns the conditions with status True that OLM sets in a synced Subscription before it resolves: about
// catalogs, deprecations and its InstallPlan.
func (r *Request) Conditions(s *v1alpha1.Subscription) []resolve.Condition {
	conditions := append(r.health(s), r.deprecations(s)...)
	plan := PlanName(&s.Status)
	all := []v1alpha1.SubscriptionCondition{r.planCondition(s.Namespace, plan)}
	if plan != "" && plan == s.Annotations[AnnotationGeneratedBy] {
		// The Subscription does not own the InstallPlan that created it, so OLM does not notice that it is complete.
		all = s.Status.Conditions
	}
	return append(conditions, trueConditions(all, PlanConditions)...)
}

// trueConditions returns the conditions of some types that are true.
func trueConditions(
	all []v1alpha1.SubscriptionCondition, types []v1alpha1.SubscriptionConditionType,
) (conditions []resolve.Condition) {
	for _, c := range all {
		if c.Status == corev1.ConditionTrue && slices.Contains(types, c.Type) {
			conditions = append(conditions, isTrue(c.Type, c.Reason, c.Message))
		}
	}
	return conditions
}

// PlanConditions are the types of the conditions of a Subscription about its InstallPlan.
var PlanConditions = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionInstallPlanMissing, v1alpha1.SubscriptionInstallPlanPending,
	v1alpha1.SubscriptionInstallPlanFailed,
}

// Health returns the health of the catalogs that Subscriptions of a namespace can see, by namespace and name.
func (r *Request) Health(namespace string) []v1alpha1.SubscriptionCatalogHealth {
	var health []v1alpha1.SubscriptionCatalogHealth
	for o := range r.CatalogSources.All() {
		c := o.Value
		if c.Namespace != namespace && c.Namespace != r.global {
			continue
		}
		health = append(health, v1alpha1.SubscriptionCatalogHealth{
			CatalogSourceRef: &corev1.ObjectReference{
				APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.CatalogSourceKind,
				Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			Healthy: isHealthy(c) || r.Reads(c.Namespace, c.Name),
		})
	}
	return health
}

// isHealthy reports whether a CatalogSource is always healthy: OLM does not check a server that it does not run itself.
func isHealthy(c *v1alpha1.CatalogSource) bool {
	return catalogsource.Check(c) == nil && !catalogsource.HasPod(c)
}

func isTrue(typ v1alpha1.SubscriptionConditionType, reason, message string) resolve.Condition {
	return resolve.Condition{Type: string(typ), Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// health returns the condition about unhealthy CatalogSources among those that a Subscription can see. The condition
// does not affect resolution.
func (r *Request) health(s *v1alpha1.Subscription) []resolve.Condition {
	visible := func(c *resolve.Catalog) bool { return c.Namespace == s.Namespace || c.Namespace == r.global }
	namespace, name := s.Spec.CatalogSourceNamespace, s.Spec.CatalogSource
	reason, message := v1alpha1.UnhealthyCatalogSourceFound, "targeted catalogsource "+namespace+"/"+name
	target := r.target(namespace, name)
	switch {
	case !slices.ContainsFunc(r.catalogSources, visible):
		reason, message = v1alpha1.NoCatalogSourcesFound, "dependency resolution requires at least one catalogsource"
	case target == nil || !visible(target):
		message += " missing"
	case target.Failure == nil:
		return nil
	default:
		if o, ok := r.CatalogSources.Get(namespace, name); ok && isHealthy(o.Value) {
			return nil
		}
		message += " unhealthy"
	}
	return []resolve.Condition{isTrue(v1alpha1.SubscriptionCatalogSourcesUnhealthy, reason, message)}
}

// planCondition returns the condition of a Subscription about its InstallPlan. Its status is not True if the
// InstallPlan is complete, if there is none, or if the State has no InstallPlans.
func (r *Request) planCondition(namespace, name string) v1alpha1.SubscriptionCondition {
	is := func(of v1alpha1.SubscriptionConditionType, reason, message string) v1alpha1.SubscriptionCondition {
		return v1alpha1.SubscriptionCondition{Type: of, Status: corev1.ConditionTrue, Reason: reason, Message: message}
	}
	if name == "" || !r.knowsPlans() {
		return v1alpha1.SubscriptionCondition{}
	}
	o, ok := r.InstallPlans.Get(namespace, name)
	if !ok {
		return is(v1alpha1.SubscriptionInstallPlanMissing, v1alpha1.ReferencedInstallPlanNotFound, "")
	}
	status := &o.Value.Status
	installed := status.GetCondition(v1alpha1.InstallPlanInstalled)
	switch status.Phase {
	case v1alpha1.InstallPlanPhaseComplete:
		return v1alpha1.SubscriptionCondition{}
	case v1alpha1.InstallPlanPhaseFailed:
		reason := cmp.Or(installed.Reason, v1alpha1.InstallPlanReasonComponentFailed)
		return is(v1alpha1.SubscriptionInstallPlanFailed, string(reason), installed.Message)
	default:
		reason := cmp.Or(string(status.Phase), v1alpha1.InstallPlanNotYetReconciled)
		return is(v1alpha1.SubscriptionInstallPlanPending, reason, installed.Message)
	}
}

// deprecationConditions are the types of the conditions of a Subscription about deprecations.
var deprecationConditions = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionPackageDeprecated, v1alpha1.SubscriptionChannelDeprecated,
	v1alpha1.SubscriptionBundleDeprecated, v1alpha1.SubscriptionDeprecated,
}

// deprecations returns the conditions about a deprecated package, channel or bundle of a Subscription. They do not
// affect resolution. OLM does not change them while it finds the installed bundle nowhere in the channel
// (updateDeprecatedStatus in pkg/controller/operators/catalog/subscription/reconciler.go).
func (r *Request) deprecations(s *v1alpha1.Subscription) []resolve.Condition {
	target := r.target(s.Spec.CatalogSourceNamespace, s.Spec.CatalogSource)
	if target == nil || target.Failure != nil || !target.Lists(s.Spec.Package, s.Spec.Channel, s.Status.InstalledCSV) {
		return trueConditions(s.Status.Conditions, deprecationConditions)
	}
	kinds := []struct {
		schema, name string
		condition    v1alpha1.SubscriptionConditionType
	}{
		{declcfg.SchemaPackage, s.Spec.Package, v1alpha1.SubscriptionPackageDeprecated},
		{declcfg.SchemaChannel, s.Spec.Channel, v1alpha1.SubscriptionChannelDeprecated},
		{declcfg.SchemaBundle, s.Status.InstalledCSV, v1alpha1.SubscriptionBundleDeprecated},
	}
	var conditions []resolve.Condition
	var messages []string
	entries := target.Deprecations(s.Spec.Package)
	for _, k := range kinds {
		i := slices.IndexFunc(entries, func(d declcfg.Deprecation) bool {
			ref := d.Reference
			return ref.Schema == k.schema && (ref.Name == k.name || ref.Schema == declcfg.SchemaPackage)
		})
		if i >= 0 {
			message := k.schema + "/" + k.name + ": " + entries[i].Message
			messages = append(messages, message)
			conditions = append(conditions, isTrue(k.condition, "", message))
		}
	}
	if len(messages) > 0 {
		conditions = append(conditions, isTrue(v1alpha1.SubscriptionDeprecated, "", strings.Join(messages, "; ")))
	}
	return conditions
}
