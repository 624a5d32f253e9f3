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
	annotationProperties    = "operatorframework.io/properties"
	annotationExcludeGlobal = "olm.operatorframework.io/exclude-global-namespace-resolution"
	annotationGeneratedBy   = "olm.generated-by"
)

// objects are the objects of a namespace that affect its resolution.
type objects struct {
	groups        []cluster.Object[*operatorsv1.OperatorGroup]
	operators     []cluster.Object[*v1alpha1.ClusterServiceVersion]
	subscriptions []cluster.Object[*v1alpha1.Subscription]
	plans         map[string]*v1alpha1.InstallPlan
	plansKnown    bool // the State has InstallPlans, or is the State of a whole cluster
}

// definitionOfPlans is the name of the CustomResourceDefinition of InstallPlans.
const definitionOfPlans = "installplans.operators.coreos.com"

func (q *Request) objects(namespace string) *objects {
	ns := &objects{
		groups:        slices.Collect(q.OperatorGroups.In(namespace)),
		operators:     slices.Collect(q.ClusterServiceVersions.In(namespace)),
		subscriptions: slices.Collect(q.Subscriptions.In(namespace)),
		plans:         map[string]*v1alpha1.InstallPlan{},
		plansKnown:    q.InstallPlans.Len() > 0,
	}
	if _, ok := q.CustomResourceDefinitions.Get("", definitionOfPlans); ok {
		ns.plansKnown = true
	}
	for o := range q.InstallPlans.In(namespace) {
		ns.plans[o.Value.Name] = o.Value
	}
	return ns
}

// Classic returns the results of OLM Classic in all namespaces that have Subscriptions, by name. The error is
// ctx.Err(), or about a catalog that is given twice.
func (q *Request) Classic(ctx context.Context, opts resolve.Options) ([]*NamespaceResult, error) {
	q.AssumeClassic()
	return q.Answers(ctx, q.Subscriptions.Namespaces(), opts)
}

// Answers returns the results of OLM Classic in the given namespaces, in their order. It returns the same errors as
// Classic.
func (q *Request) Answers(ctx context.Context, namespaces []string, opts resolve.Options) ([]*NamespaceResult, error) {
	one := func(name string) (*NamespaceResult, error) { return q.Namespace(ctx, name, opts) }
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
func (q *Request) AssumeClassic() {
	namespaces := q.Subscriptions.Namespaces()
	if len(namespaces) == 0 {
		return
	}
	if q.globalFound {
		q.assume("the CatalogSources of namespace %s are global", q.global)
	}
	for _, c := range q.catalogSources {
		_, seen := slices.BinarySearch(namespaces, c.Namespace)
		if c.Failure != nil && (c.Namespace == q.global || seen) {
			q.assume("CatalogSource %s/%s cannot be read: %s", c.Namespace, c.Name, missing(c))
		}
	}
	absent := map[string]bool{}
	for o := range q.Subscriptions.All() {
		if spec := o.Value.Spec; q.target(spec.CatalogSourceNamespace, spec.CatalogSource) == nil {
			absent[spec.CatalogSourceNamespace+"/"+spec.CatalogSource] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		q.assume("there is no CatalogSource %s: neither the state nor the given catalogs have it", name)
	}
}

// Namespace returns the result of OLM Classic in one namespace. It follows the steps of the catalog operator, and
// returns the same errors as Classic.
func (q *Request) Namespace(ctx context.Context, name string, opts resolve.Options) (*NamespaceResult, error) {
	ns := q.objects(name)
	answer := &NamespaceResult{Name: name, ClassicResult: resolve.ClassicResult{Install: []resolve.Choice{}}}
	if n := len(ns.groups); n != 1 {
		answer.Outcome, answer.Message = resolve.Failed, fmt.Sprintf("found %d operatorGroups, expected 1", n)
		q.describe(answer, ns, ns.current(false))
		return answer, nil
	}
	group := ns.groups[0].Value
	request := &resolve.ClassicRequest{Name: name, Global: q.global, Catalogs: q.catalogSources}
	request.FailForward = ns.failForward()
	if group.Annotations[annotationExcludeGlobal] == "true" {
		request.Global = ""
	}
	subscriptions := ns.current(request.FailForward)
	if plans, ok := waiting(subscriptions); ok {
		answer.Outcome, answer.Message = Waiting, "every Subscription waits for its InstallPlan: "+plans
		q.describe(answer, ns, subscriptions)
		return answer, nil
	}
	for _, o := range ns.operators {
		if !o.Value.IsCopied() {
			request.Installed = append(request.Installed, operator(o))
		}
	}
	for i, s := range subscriptions {
		request.Subscriptions = append(request.Subscriptions, resolve.Subscription{
			Name: s.Name, Package: s.Package, Channel: s.Channel, StartingCSV: s.StartingCSV,
			Catalog: s.Catalog, CatalogNamespace: s.CatalogNamespace,
			InstalledCSV: s.InstalledCSV, CurrentCSV: s.CurrentCSV, Pos: ns.subscriptions[i].Pos,
		})
	}
	result, err := request.Resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	answer.ClassicResult, answer.request = *result, request
	answer.setConditions()
	if len(result.Updated) > 0 {
		answer.InstallPlan = ns.approval()
	}
	q.describe(answer, ns, subscriptions)
	return answer, nil
}

// failForward reports whether the OperatorGroup allows OLM to replace failed operators and InstallPlans.
func (ns *objects) failForward() bool {
	return len(ns.groups) == 1 && ns.groups[0].Value.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
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
func (ns *objects) approval() v1alpha1.Approval {
	for _, o := range ns.subscriptions {
		if o.Value.Spec.InstallPlanApproval == v1alpha1.ApprovalManual {
			return v1alpha1.ApprovalManual
		}
	}
	return v1alpha1.ApprovalAutomatic
}

// waiting reports whether all Subscriptions wait for an InstallPlan, and returns the names of these InstallPlans.
func waiting(subscriptions []Subscription) (plans string, ok bool) {
	names := map[string]bool{}
	for _, s := range subscriptions {
		if s.InstallPlan == "" || s.State != v1alpha1.SubscriptionStateUpgradePending {
			return "", false
		}
		names[s.InstallPlan] = true
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
	if text, ok := c.Annotations[annotationProperties]; ok {
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

	InstallPlan  string                     `json:"-"`                     // the InstallPlan that it refers to, or ""
	InstalledCSV string                     `json:"installedCSV,omitzero"` // of its status, as are the fields below
	CurrentCSV   string                     `json:"currentCSV,omitzero"`
	State        v1alpha1.SubscriptionState `json:"state,omitzero"`

	Health []v1alpha1.SubscriptionCatalogHealth `json:"-"` // of the visible catalogs; see Statuses

	// Conditions are the conditions with status True, without the conditions of the whole namespace. They are unknown
	// for a Subscription that OLM creates.
	Conditions []resolve.Condition `json:"conditions,omitempty"`
}

// current returns the Subscriptions with the status that OLM sets before it resolves.
func (ns *objects) current(failForward bool) []Subscription {
	running := map[string]bool{}
	for _, o := range ns.operators {
		running[o.Value.Name] = true
	}
	var all []Subscription
	for _, o := range ns.subscriptions {
		spec, status := o.Value.Spec, &o.Value.Status
		s := Subscription{
			Name: o.Value.Name, Package: spec.Package, Channel: spec.Channel, StartingCSV: spec.StartingCSV,
			Catalog: spec.CatalogSource, CatalogNamespace: spec.CatalogSourceNamespace,
			InstalledCSV: status.InstalledCSV, CurrentCSV: status.CurrentCSV, State: status.State,
		}
		by, ref := o.Value.Annotations[annotationGeneratedBy], status.InstallPlanRef
		switch {
		case ref != nil && s.State == v1alpha1.SubscriptionStateUpgradePending && ns.isGone(ref.Name):
			s.State, s.CurrentCSV = v1alpha1.SubscriptionStateNone, "" // OLM removes the reference to the InstallPlan
		case ref != nil:
			s.InstallPlan = ref.Name
		case by != "" && !ns.isGone(by):
			s.InstallPlan, s.State, s.CurrentCSV = by, ns.pending(by, failForward), spec.StartingCSV
		}
		switch {
		case s.CurrentCSV == "":
		case running[s.CurrentCSV]:
			s.State, s.InstalledCSV = v1alpha1.SubscriptionStateAtLatest, s.CurrentCSV
		default:
			s.State = ns.pending(s.InstallPlan, failForward)
		}
		all = append(all, s)
	}
	return all
}

// isGone reports whether an InstallPlan does not exist. It returns false if the State has no InstallPlans at all.
func (ns *objects) isGone(plan string) bool { return ns.plansKnown && ns.plans[plan] == nil }

// pending returns the state of a Subscription whose ClusterServiceVersion does not exist yet.
func (ns *objects) pending(plan string, failForward bool) v1alpha1.SubscriptionState {
	if p := ns.plans[plan]; failForward && p != nil && p.Status.Phase == v1alpha1.InstallPlanPhaseFailed {
		return v1alpha1.SubscriptionStateFailed
	}
	return v1alpha1.SubscriptionStateUpgradePending
}

// Statuses returns the Subscriptions of a namespace, by name, with the status that OLM sets before it resolves: it
// reflects their ClusterServiceVersions, InstallPlans and catalogs.
func (q *Request) Statuses(namespace string) []Subscription {
	ns, answer := q.objects(namespace), &NamespaceResult{Name: namespace}
	q.describe(answer, ns, ns.current(ns.failForward()))
	var health []v1alpha1.SubscriptionCatalogHealth
	for o := range q.CatalogSources.All() {
		c := o.Value
		if c.Namespace != namespace && c.Namespace != q.global {
			continue
		}
		health = append(health, v1alpha1.SubscriptionCatalogHealth{
			CatalogSourceRef: &corev1.ObjectReference{
				APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.CatalogSourceKind,
				Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			// OLM assumes that a server that it does not run itself is healthy.
			Healthy: c.Spec.Image == "" && c.Spec.Address != "" || q.Reads(c.Namespace, c.Name),
		})
	}
	for i := range answer.Subscriptions {
		answer.Subscriptions[i].Health = health
	}
	return answer.Subscriptions
}

// describe sets the Subscriptions of a result.
func (q *Request) describe(answer *NamespaceResult, ns *objects, subscriptions []Subscription) {
	updated := map[string]string{}
	for _, s := range answer.Updated {
		updated[s.Name] = s.CurrentCSV
	}
	for _, s := range subscriptions {
		s.Conditions = append(q.health(answer.Name, &s), q.deprecations(&s)...)
		if current, ok := updated[s.Name]; ok {
			s.Change, s.CurrentCSV, s.State = cluster.Updated, current, v1alpha1.SubscriptionStateUpgradePending
		} else if c, ok := ns.planCondition(s.InstallPlan); ok {
			s.Conditions = append(s.Conditions, c)
		}
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

func isTrue(typ v1alpha1.SubscriptionConditionType, reason, message string) resolve.Condition {
	return resolve.Condition{Type: string(typ), Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// health returns the condition about unhealthy CatalogSources among those that a Subscription can see. The condition
// does not affect resolution.
func (q *Request) health(namespace string, s *Subscription) []resolve.Condition {
	visible := func(c *resolve.Catalog) bool { return c.Namespace == namespace || c.Namespace == q.global }
	reason, message := v1alpha1.UnhealthyCatalogSourceFound, "targeted catalogsource "+s.CatalogNamespace+"/"+s.Catalog
	target := q.target(s.CatalogNamespace, s.Catalog)
	switch {
	case !slices.ContainsFunc(q.catalogSources, visible):
		reason, message = v1alpha1.NoCatalogSourcesFound, "dependency resolution requires at least one catalogsource"
	case target == nil || !visible(target):
		message += " missing"
	case target.Failure != nil:
		message += " unhealthy"
	default:
		return nil
	}
	return []resolve.Condition{isTrue(v1alpha1.SubscriptionCatalogSourcesUnhealthy, reason, message)}
}

// planCondition returns the condition of a Subscription about its InstallPlan. It reports false if there is none, or
// the State has no InstallPlans.
func (ns *objects) planCondition(name string) (c resolve.Condition, ok bool) {
	if name == "" || !ns.plansKnown {
		return c, false
	}
	plan := ns.plans[name]
	if plan == nil {
		return isTrue(v1alpha1.SubscriptionInstallPlanMissing, v1alpha1.ReferencedInstallPlanNotFound, ""), true
	}
	installed := plan.Status.GetCondition(v1alpha1.InstallPlanInstalled)
	switch phase := plan.Status.Phase; phase {
	case v1alpha1.InstallPlanPhaseComplete:
		return c, false
	case v1alpha1.InstallPlanPhaseFailed:
		reason := cmp.Or(installed.Reason, v1alpha1.InstallPlanReasonComponentFailed)
		return isTrue(v1alpha1.SubscriptionInstallPlanFailed, string(reason), installed.Message), true
	default:
		reason := cmp.Or(string(phase), v1alpha1.InstallPlanNotYetReconciled)
		return isTrue(v1alpha1.SubscriptionInstallPlanPending, reason, installed.Message), true
	}
}

// deprecations returns the conditions about a deprecated package, channel or bundle of a Subscription. They do not
// affect resolution.
func (q *Request) deprecations(s *Subscription) []resolve.Condition {
	target := q.target(s.CatalogNamespace, s.Catalog)
	if s.InstalledCSV == "" || target == nil || target.Failure != nil {
		return nil
	}
	kinds := []struct {
		schema, name string
		condition    v1alpha1.SubscriptionConditionType
	}{
		{declcfg.SchemaPackage, s.Package, v1alpha1.SubscriptionPackageDeprecated},
		{declcfg.SchemaChannel, s.Channel, v1alpha1.SubscriptionChannelDeprecated},
		{declcfg.SchemaBundle, s.InstalledCSV, v1alpha1.SubscriptionBundleDeprecated},
	}
	var conditions []resolve.Condition
	var messages []string
	entries := target.Deprecations(s.Package)
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
