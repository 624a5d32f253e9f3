package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// A Namespace is the answer of OLM Classic about a namespace.
type Namespace struct {
	Name string `json:"name"`
	resolve.Classic

	// InstallPlan is the approval of the InstallPlan that OLM creates: Automatic or Manual; "" if it creates none.
	InstallPlan v1alpha1.Approval `json:"installPlan,omitzero"`

	// Conditions are those that OLM sets on all Subscriptions of the namespace.
	Conditions []resolve.Condition `json:"conditions,omitempty"`

	// Subscriptions are those of the namespace and those that OLM creates, by name.
	Subscriptions []Subscription `json:"subscriptions"`

	question *resolve.Namespace // nil if OLM does not resolve the namespace
}

// Explain says why the answer is as it is; nil if OLM does not resolve the namespace. See [resolve.Namespace.Explain].
func (n *Namespace) Explain(ctx context.Context, opts resolve.Options) (*resolve.Explanation, error) {
	if n.question == nil {
		return nil, nil
	}
	return n.question.Explain(ctx, &n.Classic, opts)
}

// Annotations that the answer depends on.
const (
	annotationProperties    = "operatorframework.io/properties"
	annotationExcludeGlobal = "olm.operatorframework.io/exclude-global-namespace-resolution"
	annotationGeneratedBy   = "olm.generated-by"
)

// objects are those of a namespace.
type objects struct {
	groups        []Object[*operatorsv1.OperatorGroup]
	operators     []Object[*v1alpha1.ClusterServiceVersion]
	subscriptions []Object[*v1alpha1.Subscription]
	plans         map[string]*v1alpha1.InstallPlan
	plansKnown    bool // the State has InstallPlans, or is of a whole cluster
}

// definitionOfPlans is the name of the CustomResourceDefinition of InstallPlans.
const definitionOfPlans = "installplans.operators.coreos.com"

func (s *State) objects(namespace string) *objects {
	ns := &objects{
		groups:        slices.Collect(s.OperatorGroups.In(namespace)),
		operators:     slices.Collect(s.ClusterServiceVersions.In(namespace)),
		subscriptions: slices.Collect(s.Subscriptions.In(namespace)),
		plans:         map[string]*v1alpha1.InstallPlan{},
		plansKnown:    s.InstallPlans.Len() > 0,
	}
	if _, ok := s.CustomResourceDefinitions.Get("", definitionOfPlans); ok {
		ns.plansKnown = true
	}
	for o := range s.InstallPlans.In(namespace) {
		ns.plans[o.Value.Name] = o.Value
	}
	return ns
}

// Classic returns the answers of OLM Classic about the namespaces that have Subscriptions, by name. The error is that
// of ctx, or about a catalog that is given twice.
func (q *Question) Classic(ctx context.Context, opts resolve.Options) ([]*Namespace, error) {
	q.AssumeClassic()
	return q.Answers(ctx, q.Subscriptions.Namespaces(), opts)
}

// Answers returns the answers of OLM Classic about some namespaces, in their order. The errors are those of Classic.
func (q *Question) Answers(ctx context.Context, namespaces []string, opts resolve.Options) ([]*Namespace, error) {
	type result struct {
		answer *Namespace
		err    error
	}
	one := func(name string) result {
		answer, err := q.Namespace(ctx, name, opts)
		return result{answer, err}
	}
	var answers []*Namespace
	for r := range parallel.Map(ctx, 0, slices.Values(namespaces), one) {
		if r.err != nil {
			return nil, r.err
		}
		answers = append(answers, r.answer)
	}
	return answers, ctx.Err()
}

// AssumeClassic adds what is assumed of the CatalogSources that the namespaces see or name.
func (q *Question) AssumeClassic() {
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
		q.assume("there is no CatalogSource %s: it is neither in the state nor given", name)
	}
}

// Namespace returns the answer of OLM Classic about one namespace, in the steps of the catalog operator. The errors are
// those of Classic.
func (q *Question) Namespace(ctx context.Context, name string, opts resolve.Options) (*Namespace, error) {
	ns := q.objects(name)
	answer := &Namespace{Name: name, Classic: resolve.Classic{Install: []resolve.Choice{}}}
	if n := len(ns.groups); n != 1 {
		answer.Outcome, answer.Message = resolve.Failed, fmt.Sprintf("found %d operatorGroups, expected 1", n)
		q.describe(answer, ns, ns.statuses(false))
		return answer, nil
	}
	group := ns.groups[0].Value
	question := &resolve.Namespace{Name: name, Global: q.global, Catalogs: q.catalogSources}
	question.FailForward = ns.failForward()
	if group.Annotations[annotationExcludeGlobal] == "true" {
		question.Global = ""
	}
	statuses := ns.statuses(question.FailForward)
	if plans, ok := waiting(statuses); ok {
		answer.Outcome, answer.Message = Waiting, "every Subscription waits for its InstallPlan: "+plans
		q.describe(answer, ns, statuses)
		return answer, nil
	}
	for _, o := range ns.operators {
		if !o.Value.IsCopied() {
			question.Installed = append(question.Installed, operator(o))
		}
	}
	for i, o := range ns.subscriptions {
		question.Subscriptions = append(question.Subscriptions, statuses[i].question(o))
	}
	classic, err := question.Classic(ctx, opts)
	if err != nil {
		return nil, err
	}
	answer.Classic, answer.question = *classic, question
	answer.setConditions()
	if len(classic.Updated) > 0 {
		answer.InstallPlan = ns.approval()
	}
	q.describe(answer, ns, statuses)
	return answer, nil
}

// failForward reports whether failed operators and InstallPlans may be replaced.
func (ns *objects) failForward() bool {
	return len(ns.groups) == 1 && ns.groups[0].Value.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
}

// setConditions sets the condition of a resolution that failed. A resolution without error removes it.
func (n *Namespace) setConditions() {
	reason := map[resolve.Outcome]string{
		resolve.Unsatisfiable: "ConstraintsNotSatisfiable",
		resolve.Failed:        "ErrorPreventedResolution",
	}[n.Outcome]
	if reason != "" {
		failed := string(v1alpha1.SubscriptionResolutionFailed)
		n.Conditions = []resolve.Condition{{Type: failed, Status: metav1.ConditionTrue, Reason: reason, Message: n.Message}}
	}
}

// approval is that of an InstallPlan of the namespace.
func (ns *objects) approval() v1alpha1.Approval {
	for _, o := range ns.subscriptions {
		if o.Value.Spec.InstallPlanApproval == v1alpha1.ApprovalManual {
			return v1alpha1.ApprovalManual
		}
	}
	return v1alpha1.ApprovalAutomatic
}

// waiting reports whether all Subscriptions wait for an InstallPlan, and for which ones.
func waiting(statuses []status) (plans string, ok bool) {
	names := map[string]bool{}
	for _, s := range statuses {
		if s.plan == "" || s.state != v1alpha1.SubscriptionStateUpgradePending {
			return "", false
		}
		names[s.plan] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", "), true
}

// operator returns what OLM knows of an installed operator.
func operator(o Object[*v1alpha1.ClusterServiceVersion]) resolve.Installed {
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
