package install

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A NamespaceResult is the result of OLM Classic in a namespace.
type NamespaceResult struct {
	Name string `json:"name"`
	resolve.ClassicResult

	// InstallPlan is the approval of the InstallPlan that OLM creates: Automatic or Manual; "" if it creates none.
	InstallPlan v1alpha1.Approval `json:"installPlan,omitzero"`

	// Conditions are the conditions that OLM sets on all Subscriptions of the namespace.
	Conditions []resolve.Condition `json:"conditions,omitempty"`

	// Subscriptions are the Subscriptions of the namespace, including the created ones, by name.
	Subscriptions []Subscription `json:"subscriptions"`

	request *resolve.ClassicRequest // nil if OLM does not resolve the namespace
}

// Explain resolves the namespace again and explains the result. It returns nil if OLM does not resolve the namespace.
func (n *NamespaceResult) Explain(ctx context.Context, opts resolve.Options) (*resolve.Explanation, error) {
	if n.request == nil {
		return nil, nil
	}
	opts.Explain = true
	result, err := n.request.Resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	return result.Explanation, nil
}

// Annotations that change the result.
const (
	AnnotationProperties  = "operatorframework.io/properties" // see [resolve.AnnotatedProperties]
	AnnotationGeneratedBy = "olm.generated-by"                // the name of the InstallPlan that created a Subscription
)

// definitionOfPlans is the name of the CustomResourceDefinition of InstallPlans.
const definitionOfPlans = "installplans.operators.coreos.com"

var kindOfPlans = schema.GroupKind{Group: v1alpha1.GroupName, Kind: v1alpha1.InstallPlanKind}

// knowsPlans reports whether the State has InstallPlans, or is the State of a whole cluster.
func (r *Request) knowsPlans() bool {
	_, ok := r.CustomResourceDefinitions.Get("", definitionOfPlans)
	return ok || r.InstallPlans.Len() > 0 || r.Has(kindOfPlans)
}

// Classic returns the results of OLM Classic in all namespaces that have Subscriptions, by name. The error is
// ctx.Err(), or about a catalog that is given twice.
func (r *Request) Classic(ctx context.Context, opts resolve.Options) ([]*NamespaceResult, error) {
	r.AssumeClassic()
	r.DisconnectInvalid()
	return r.Answers(ctx, r.Subscriptions.Namespaces(), opts)
}

// Answers returns the results of OLM Classic in the given namespaces, in their order. It returns the same errors as
// Classic.
func (r *Request) Answers(ctx context.Context, namespaces []string, opts resolve.Options) ([]*NamespaceResult, error) {
	one := func(name string) (*NamespaceResult, error) { return r.Namespace(ctx, name, opts) }
	var answers []*NamespaceResult
	for answer, err := range parallel.Try(ctx, 0, slices.Values(namespaces), one) {
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// AssumeClassic records the assumptions about the CatalogSources that the namespaces can see or Subscriptions name.
func (r *Request) AssumeClassic() {
	namespaces := r.Subscriptions.Namespaces()
	if len(namespaces) == 0 {
		return
	}
	isGlobal := func(c *resolve.Catalog) bool { return c.Namespace == r.global }
	switch {
	case !r.globalAssumed || len(r.catalogSources) == 0:
	case slices.ContainsFunc(r.catalogSources, isGlobal):
		r.assume("the CatalogSources of namespace %s are global", r.global)
	default:
		r.assume("the global namespace is %s, which has no CatalogSources", r.global)
	}
	for _, c := range r.catalogSources {
		_, seen := slices.BinarySearch(namespaces, c.Namespace)
		if c.Failure != nil && (c.Namespace == r.global || seen) {
			r.assume("CatalogSource %s/%s cannot be read: %s", c.Namespace, c.Name, r.missing(c))
		}
	}
	absent := map[string]bool{}
	for o := range r.Subscriptions.All() {
		if spec := o.Value.Spec; r.target(spec.CatalogSourceNamespace, spec.CatalogSource) == nil {
			absent[spec.CatalogSourceNamespace+"/"+spec.CatalogSource] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		r.assume("there is no CatalogSource %s: neither the state nor the given catalogs have it", name)
	}
}

// Namespace returns the result of OLM Classic in one namespace. It follows the steps of the catalog operator, and
// returns the same errors as Classic.
func (r *Request) Namespace(ctx context.Context, name string, opts resolve.Options) (*NamespaceResult, error) {
	answer := &NamespaceResult{Name: name, ClassicResult: resolve.ClassicResult{Install: []resolve.Choice{}}}
	subscriptions, groups := r.SyncedSubscriptions(name), slices.Collect(r.OperatorGroups.In(name))
	if n := len(groups); n != 1 {
		answer.Outcome, answer.Message = resolve.Failed, fmt.Sprintf("found %d operatorGroups, expected 1", n)
		r.describe(answer, subscriptions)
		return answer, nil
	}
	request := &resolve.ClassicRequest{Name: name, Global: r.global, Catalogs: r.catalogSources}
	request.FailForward = r.failForward(name)
	request.ExcludesGlobal = r.excludesGlobal(name)
	if plans, ok := waiting(subscriptions); ok {
		answer.Outcome, answer.Message = Waiting, "every Subscription waits for its InstallPlan: "+plans
		r.describe(answer, subscriptions)
		return answer, nil
	}
	for o := range r.ClusterServiceVersions.In(name) {
		if !o.Value.IsCopied() {
			request.Installed = append(request.Installed, operator(o))
		}
	}
	for _, o := range subscriptions {
		spec, status := o.Value.Spec, &o.Value.Status
		request.Subscriptions = append(request.Subscriptions, resolve.Subscription{
			Name: o.Value.Name, Package: spec.Package, Channel: spec.Channel, StartingCSV: spec.StartingCSV,
			Catalog: spec.CatalogSource, CatalogNamespace: spec.CatalogSourceNamespace,
			InstalledCSV: status.InstalledCSV, CurrentCSV: status.CurrentCSV, Pos: o.Pos,
		})
	}
	result, err := request.Resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	answer.ClassicResult, answer.request = *result, request
	answer.setConditions()
	if len(result.Updated) > 0 {
		answer.InstallPlan = r.approval(name)
	}
	r.describe(answer, subscriptions)
	return answer, nil
}

// excludesGlobal reports whether an OperatorGroup hides the global catalogs from a namespace.
func (r *Request) excludesGlobal(namespace string) bool {
	for o := range r.OperatorGroups.In(namespace) {
		return o.Value.Annotations[cluster.AnnotationExcludeGlobal] == "true"
	}
	return false
}

// failForward reports whether the OperatorGroup of a namespace, if it has only one, allows OLM to replace failed
// operators and InstallPlans.
func (r *Request) failForward(namespace string) bool {
	groups := slices.Collect(r.OperatorGroups.In(namespace))
	return len(groups) == 1 && groups[0].Value.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
}

// setConditions sets the condition of a failed resolution. A resolution without an error removes that condition.
func (n *NamespaceResult) setConditions() {
	reason := map[resolve.Outcome]string{
		resolve.Unsatisfiable: "ConstraintsNotSatisfiable",
		resolve.Failed:        "ErrorPreventedResolution",
	}[n.Outcome]
	if reason != "" {
		failed := string(v1alpha1.SubscriptionResolutionFailed)
		n.Conditions = []resolve.Condition{{Type: failed, Status: metav1.ConditionTrue, Reason: reason, Message: n.Message}}
	}
}

// approval returns the approval of an InstallPlan of the namespace.
func (r *Request) approval(namespace string) v1alpha1.Approval {
	for o := range r.Subscriptions.In(namespace) {
		if o.Value.Spec.InstallPlanApproval == v1alpha1.ApprovalManual {
			return v1alpha1.ApprovalManual
		}
	}
	return v1alpha1.ApprovalAutomatic
}

// waiting reports whether all Subscriptions wait for an InstallPlan, and returns the names of these InstallPlans.
func waiting(subscriptions []cluster.Object[*v1alpha1.Subscription]) (plans string, ok bool) {
	names := map[string]bool{}
	for _, o := range subscriptions {
		status := &o.Value.Status
		if PlanName(status) == "" || status.State != v1alpha1.SubscriptionStateUpgradePending {
			return "", false
		}
		names[PlanName(status)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", "), true
}

// operator converts a ClusterServiceVersion to the input of the resolver.
func operator(o cluster.Object[*v1alpha1.ClusterServiceVersion]) resolve.Installed {
	c := o.Value
	in := resolve.Installed{
		Name: c.Name, Version: c.Spec.Version.Version, Phase: string(c.Status.Phase), Replaces: c.Spec.Replaces, Pos: o.Pos,
	}
	crds, services := &c.Spec.CustomResourceDefinitions, &c.Spec.APIServiceDefinitions
	in.CustomResources.Owned, in.CustomResources.Required = definitions(crds.Owned), definitions(crds.Required)
	in.APIServices.Owned, in.APIServices.Required = apis(services.Owned), apis(services.Required)
	if text, ok := c.Annotations[AnnotationProperties]; ok {
		in.Properties, in.PropertiesError = resolve.AnnotatedProperties(text)
	}
	return in
}

func definitions(all []v1alpha1.CRDDescription) []declcfg.CRDDescription {
	var converted []declcfg.CRDDescription
	for _, d := range all {
		converted = append(converted, declcfg.CRDDescription{Name: d.Name, Version: d.Version, Kind: d.Kind})
	}
	return converted
}

func apis(all []v1alpha1.APIServiceDescription) []declcfg.APIServiceDescription {
	var converted []declcfg.APIServiceDescription
	for _, d := range all {
		converted = append(converted, declcfg.APIServiceDescription{Group: d.Group, Version: d.Version, Kind: d.Kind})
	}
	return converted
}

// A Subscription is a Subscription after OLM has resolved its namespace.
type Subscription struct {
	Name             string         `json:"name"`
	Change           cluster.Change `json:"change,omitzero"` // created, updated to another currentCSV, or ""
	Package          string         `json:"package"`
	Channel          string         `json:"channel,omitzero"`
	Catalog          string         `json:"catalog"`
	CatalogNamespace string         `json:"catalogNamespace"`
	StartingCSV      string         `json:"startingCSV,omitzero"`

	InstalledCSV string                     `json:"installedCSV,omitzero"` // of its status, as are the fields below
	CurrentCSV   string                     `json:"currentCSV,omitzero"`
	State        v1alpha1.SubscriptionState `json:"state,omitzero"`

	// Conditions are the conditions with status True, without the conditions of the whole namespace. They are unknown
	// for a Subscription that OLM creates.
	Conditions []resolve.Condition `json:"conditions,omitempty"`
}

// SyncedSubscriptions returns the Subscriptions of a namespace, by name, with the state, the ClusterServiceVersions and
// the InstallPlan that OLM sets in their status before it resolves. The condition about the InstallPlan is set if the
// reference to it is new. The rest of the status is unchanged.
func (r *Request) SyncedSubscriptions(namespace string) []cluster.Object[*v1alpha1.Subscription] {
	failForward := r.failForward(namespace)
	all := slices.Collect(r.Subscriptions.In(namespace))
	for i := range all {
		s := *all[i].Value
		all[i].Value = &s
		status, by := &s.Status, s.Annotations[AnnotationGeneratedBy]
		switch plan := PlanName(status); {
		case plan != "" && status.State == v1alpha1.SubscriptionStateUpgradePending && r.isGone(namespace, plan):
			status.State, status.CurrentCSV = v1alpha1.SubscriptionStateNone, ""
			status.InstallPlanRef, status.Install = nil, nil
		case plan == "" && by != "" && !r.isGone(namespace, by):
			status.State, status.CurrentCSV = r.pending(namespace, by, failForward), s.Spec.StartingCSV
			r.SetPlan(status, namespace, by)
			if c := r.planCondition(namespace, by); c.Status == corev1.ConditionTrue {
				status.Conditions = slices.Clone(status.Conditions)
				status.SetCondition(c)
			}
		}
		_, isRunning := r.ClusterServiceVersions.Get(namespace, status.CurrentCSV)
		switch {
		case status.CurrentCSV == "":
		case isRunning:
			status.State, status.InstalledCSV = v1alpha1.SubscriptionStateAtLatest, status.CurrentCSV
		default:
			status.State = r.pending(namespace, PlanName(status), failForward)
		}
	}
	return all
}

// SetPlan makes the status of a Subscription refer to an InstallPlan.
func (r *Request) SetPlan(status *v1alpha1.SubscriptionStatus, namespace, plan string) {
	ref := &corev1.ObjectReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.InstallPlanKind, Namespace: namespace, Name: plan,
	}
	if o, ok := r.InstallPlans.Get(namespace, plan); ok {
		ref.UID, ref.ResourceVersion = o.Value.UID, o.Value.ResourceVersion
	}
	status.InstallPlanRef, status.Install = ref, v1alpha1.NewInstallPlanReference(ref)
}

// PlanName returns the name of the InstallPlan that a Subscription refers to, "" for none.
func PlanName(status *v1alpha1.SubscriptionStatus) string {
	if status.InstallPlanRef == nil {
		return ""
	}
	return status.InstallPlanRef.Name
}

// isGone reports whether an InstallPlan does not exist. It returns false if the State has no InstallPlans at all.
func (r *Request) isGone(namespace, plan string) bool {
	_, exists := r.InstallPlans.Get(namespace, plan)
	return !exists && r.knowsPlans()
}

// pending returns the state of a Subscription whose ClusterServiceVersion does not exist yet.
func (r *Request) pending(namespace, plan string, failForward bool) v1alpha1.SubscriptionState {
	o, ok := r.InstallPlans.Get(namespace, plan)
	if failForward && ok && o.Value.Status.Phase == v1alpha1.InstallPlanPhaseFailed {
		return v1alpha1.SubscriptionStateFailed
	}
	return v1alpha1.SubscriptionStateUpgradePending
}

// describe sets the Subscriptions of a result.
func (r *Request) describe(answer *NamespaceResult, subscriptions []cluster.Object[*v1alpha1.Subscription]) {
	updated := map[string]string{}
	for _, s := range answer.Updated {
		updated[s.Name] = s.CurrentCSV
	}
	for _, o := range subscriptions {
		spec, status := o.Value.Spec, &o.Value.Status
		s := Subscription{
			Name: o.Value.Name, Package: spec.Package, Channel: spec.Channel, StartingCSV: spec.StartingCSV,
			Catalog: spec.CatalogSource, CatalogNamespace: spec.CatalogSourceNamespace,
		}
		if current, ok := updated[s.Name]; ok {
			s.Change, status.CurrentCSV, status.State = cluster.Updated, current, v1alpha1.SubscriptionStateUpgradePending
			status.InstallPlanRef = nil // the new InstallPlan does not exist yet
		}
		s.InstalledCSV, s.CurrentCSV, s.State = status.InstalledCSV, status.CurrentCSV, status.State
		s.Conditions = r.Conditions(o.Value)
		answer.Subscriptions = append(answer.Subscriptions, s)
	}
	for _, g := range answer.Generated {
		answer.Subscriptions = append(answer.Subscriptions, Subscription{
			Name: g.Name, Change: cluster.Created, Package: g.Package, Channel: g.Channel,
			Catalog: g.Catalog, CatalogNamespace: g.CatalogNamespace, StartingCSV: g.StartingCSV,
		})
	}
	slices.SortStableFunc(answer.Subscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
}

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
