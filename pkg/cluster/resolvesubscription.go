package cluster

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// A Subscription is as OLM leaves it.
type Subscription struct {
	Name             string `json:"name"`
	Change           Change `json:"change,omitzero"`
	Package          string `json:"package"`
	Channel          string `json:"channel,omitzero"`
	Catalog          string `json:"catalog"`
	CatalogNamespace string `json:"catalogNamespace"`
	StartingCSV      string `json:"startingCSV,omitzero"`

	InstallPlan  string                     `json:"-"`                     // that it refers to, or ""
	InstalledCSV string                     `json:"installedCSV,omitzero"` // of its status, as is the rest
	CurrentCSV   string                     `json:"currentCSV,omitzero"`
	State        v1alpha1.SubscriptionState `json:"state,omitzero"`

	Health []v1alpha1.SubscriptionCatalogHealth `json:"-"` // of the catalogs that it sees

	// Conditions are those that are true, apart from those of the whole namespace. They are not known of a Subscription
	// that OLM creates.
	Conditions []resolve.Condition `json:"conditions,omitempty"`
}

// A Change is what happens to a Subscription; "" if its currentCSV stays.
type Change string

// The changes.
const (
	Created Change = "created"
	Updated Change = "updated" // to another currentCSV
)

// A status is that of a Subscription when OLM resolves.
type status struct {
	plan               string // the InstallPlan that it refers to, or ""
	state              v1alpha1.SubscriptionState
	installed, current string
}

// statuses returns the status that OLM gives to each Subscription before it resolves.
func (ns *objects) statuses(failForward bool) []status {
	running := map[string]bool{}
	for _, o := range ns.operators {
		running[o.Value.Name] = true
	}
	var statuses []status
	for _, o := range ns.subscriptions {
		sub := o.Value
		s := status{state: sub.Status.State, installed: sub.Status.InstalledCSV, current: sub.Status.CurrentCSV}
		by := sub.Annotations[annotationGeneratedBy]
		switch {
		case ns.lost(sub):
			s.state, s.current = v1alpha1.SubscriptionStateNone, ""
		case sub.Status.InstallPlanRef != nil:
			s.plan = sub.Status.InstallPlanRef.Name
		case by != "" && !ns.isGone(by):
			s.plan, s.state, s.current = by, ns.pending(by, failForward), sub.Spec.StartingCSV
		}
		switch {
		case s.current == "":
		case running[s.current]:
			s.state, s.installed = v1alpha1.SubscriptionStateAtLatest, s.current
		default:
			s.state = ns.pending(s.plan, failForward)
		}
		statuses = append(statuses, s)
	}
	return statuses
}

// lost reports whether a Subscription waits for an InstallPlan that is gone. OLM makes it forget both.
func (ns *objects) lost(s *v1alpha1.Subscription) bool {
	ref := s.Status.InstallPlanRef
	return ref != nil && s.Status.State == v1alpha1.SubscriptionStateUpgradePending && ns.isGone(ref.Name)
}

// isGone reports whether an InstallPlan is known to be gone: a State with other InstallPlans, or with their definition,
// would have it.
func (ns *objects) isGone(plan string) bool { return ns.plansKnown && ns.plans[plan] == nil }

// pending returns the state of a Subscription whose ClusterServiceVersion is not there yet.
func (ns *objects) pending(plan string, failForward bool) v1alpha1.SubscriptionState {
	if p := ns.plans[plan]; failForward && p != nil && p.Status.Phase == v1alpha1.InstallPlanPhaseFailed {
		return v1alpha1.SubscriptionStateFailed
	}
	return v1alpha1.SubscriptionStateUpgradePending
}

// question returns the Subscription as OLM resolves it.
func (s *status) question(o Object[*v1alpha1.Subscription]) resolve.Subscription {
	spec := o.Value.Spec
	return resolve.Subscription{
		Name: o.Value.Name, Package: spec.Package, Channel: spec.Channel, StartingCSV: spec.StartingCSV,
		Catalog: spec.CatalogSource, CatalogNamespace: spec.CatalogSourceNamespace,
		InstalledCSV: s.installed, CurrentCSV: s.current, Pos: o.Pos,
	}
}

// Statuses returns the Subscriptions of a namespace, by name, as OLM leaves them before it resolves: they say what
// became of their ClusterServiceVersions, InstallPlans and catalogs.
func (q *Question) Statuses(namespace string) []Subscription {
	ns, answer := q.objects(namespace), &Namespace{Name: namespace}
	q.describe(answer, ns, ns.statuses(ns.failForward()))
	health := q.catalogHealth(namespace)
	for i := range answer.Subscriptions {
		answer.Subscriptions[i].Health = health
	}
	return answer.Subscriptions
}

// catalogHealth returns the health of the CatalogSources of the State that a namespace sees, by namespace and name. OLM
// has no doubts about a server that it does not run itself.
func (q *Question) catalogHealth(namespace string) []v1alpha1.SubscriptionCatalogHealth {
	var all []v1alpha1.SubscriptionCatalogHealth
	for o := range q.CatalogSources.All() {
		c := o.Value
		if c.Namespace != namespace && c.Namespace != q.global {
			continue
		}
		healthy := c.Spec.Image == "" && c.Spec.Address != "" || q.Reads(c.Namespace, c.Name)
		all = append(all, v1alpha1.SubscriptionCatalogHealth{
			CatalogSourceRef: &corev1.ObjectReference{
				APIVersion: operatorsV1Alpha, Kind: v1alpha1.CatalogSourceKind, Namespace: c.Namespace, Name: c.Name,
				UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			Healthy: healthy,
		})
	}
	return all
}

// describe sets the Subscriptions of an answer.
func (q *Question) describe(answer *Namespace, ns *objects, statuses []status) {
	updated := map[string]string{}
	for _, s := range answer.Updated {
		updated[s.Name] = s.CurrentCSV
	}
	for i, o := range ns.subscriptions {
		s := newSubscription(statuses[i].question(o))
		s.State, s.InstallPlan = statuses[i].state, statuses[i].plan
		s.Conditions = append(q.health(answer.Name, &s), q.deprecations(&s)...)
		if current, ok := updated[s.Name]; ok {
			s.Change, s.CurrentCSV, s.State = Updated, current, v1alpha1.SubscriptionStateUpgradePending
		} else if c, ok := ns.planCondition(statuses[i].plan); ok {
			s.Conditions = append(s.Conditions, c)
		}
		answer.Subscriptions = append(answer.Subscriptions, s)
	}
	for _, g := range answer.Generated {
		s := newSubscription(g)
		s.Change = Created
		answer.Subscriptions = append(answer.Subscriptions, s)
	}
	slices.SortStableFunc(answer.Subscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
}

func newSubscription(s resolve.Subscription) Subscription {
	return Subscription{
		Name: s.Name, Package: s.Package, Channel: s.Channel, Catalog: s.Catalog, CatalogNamespace: s.CatalogNamespace,
		StartingCSV: s.StartingCSV, InstalledCSV: s.InstalledCSV, CurrentCSV: s.CurrentCSV,
	}
}

func isTrue(typ v1alpha1.SubscriptionConditionType, reason, message string) resolve.Condition {
	return resolve.Condition{Type: string(typ), Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// health returns what is wrong with the CatalogSources that a Subscription sees. It has no effect on what is resolved.
func (q *Question) health(namespace string, s *Subscription) []resolve.Condition {
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

// planCondition returns what a Subscription says about its InstallPlan, as far as the State has InstallPlans.
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

// deprecations returns what is deprecated of the package, channel and bundle that a Subscription has installed. It has
// no effect on what is resolved.
func (q *Question) deprecations(s *Subscription) []resolve.Condition {
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
