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

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/resolve"
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
		CustomResources: c.Spec.CustomResourceDefinitions, APIServices: c.Spec.APIServiceDefinitions,
	}
	if text, ok := c.Annotations[AnnotationProperties]; ok {
		in.Properties, in.PropertiesError = resolve.AnnotatedProperties(text)
	}
	return in
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
