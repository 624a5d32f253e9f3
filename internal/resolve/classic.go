// Package resolve predicts the operators that the Operator Lifecycle Manager installs, and explains why it does not
// install others: OLM Classic for the Subscriptions of a namespace, OLM v1 for a ClusterExtension.
//
// The answer is a pure function of catalogs, installed operators and requests. No cluster is contacted.
//
//	catalog, err := resolve.ReadCatalog(ctx, declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")})
//	...
//	catalog.Name, catalog.Namespace = "operators", "olm"
//	request := &resolve.ClassicRequest{
//		Name:     "default",
//		Global:   "olm",
//		Catalogs: []*resolve.Catalog{catalog},
//		Subscriptions: []resolve.Subscription{
//			{Name: "etcd", Package: "etcd", Catalog: "operators", CatalogNamespace: "olm"},
//		},
//	}
//	result, err := request.Resolve(ctx, resolve.Options{})
//
// # OLM Classic
//
// The variables, preferences and sentences are OLM's; package solver chooses. OLM reads Subscriptions and installed
// operators in random order. Here they are read by name, and a run in reverse order shows whether OLM may answer
// otherwise. Of the contradicting facts, OLM reports some that suffice; here the set is minimal. A rule in CEL that
// costs too much leaves the answer undecided; OLM has no such limit.
//
// An [Explanation] is found by solving again with the rejected candidate, not guessed, and a [Change] is proposed only
// if it leads to the wanted answer. A [Check] of a whole catalog calls the solver only for channels with bundles that
// have requirements or cannot be installed.
package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A ClassicRequest asks OLM Classic which operators the Subscriptions of a namespace install or update, given catalogs
// and installed operators.
type ClassicRequest struct {
	Name string

	// Global is the namespace of the global catalogs, "" if there is none. ExcludesGlobal means that the OperatorGroup
	// hides them.
	Global         string
	ExcludesGlobal bool

	// Catalogs are the CatalogSources. A catalog in a namespace other than Name and Global is not visible.
	Catalogs []*Catalog

	Installed     []Installed
	Subscriptions []Subscription

	// FailForward means that the OperatorGroup has the upgrade strategy TechPreviewUnsafeFailForward.
	FailForward bool
}

// sees reports whether a catalog is visible.
func (ns *ClassicRequest) sees(c *Catalog) bool {
	return c.Namespace == ns.Name || c.Namespace == ns.Global && !ns.ExcludesGlobal
}

// A Subscription asks for a package of a catalog.
type Subscription struct {
	Name             string
	Package          string
	Channel          string // "" for any channel
	Catalog          string
	CatalogNamespace string
	StartingCSV      string

	InstalledCSV string // from its status, like CurrentCSV
	CurrentCSV   string

	Pos declcfg.Pos
}

// anyCatalog reports whether the Subscription names no catalog, which OLM treats as all catalogs.
func (s *Subscription) anyCatalog() bool { return s.Catalog == "" && s.CatalogNamespace == "" }

// Installed is an operator of the namespace: a ClusterServiceVersion that is not a copy.
type Installed struct {
	Name    string
	Version semver.Version // 0.0.0 if it has none

	// Properties are the properties in the annotation operatorframework.io/properties; not nil if the annotation
	// exists. Without it, OLM infers the properties from the APIs and from the Subscriptions.
	Properties []Property

	// PropertiesError is the error of reading the annotation.
	PropertiesError error

	CustomResources v1alpha1.CustomResourceDefinitions
	APIServices     v1alpha1.APIServiceDefinitions

	Phase    string
	Replaces string
	Pos      declcfg.Pos
}

// Options are the options of a resolution by OLM Classic.
type Options struct {
	Timeout time.Duration // after which the outcome is Undecided; 0 means 10 seconds
	Explain bool          // explain the answer, which may take the same time again
}

// An Outcome is the kind of answer that OLM gives.
type Outcome string

// The outcomes, as written in JSON.
const (
	Resolved      Outcome = "resolved"
	Unsatisfiable Outcome = "unsatisfiable" // reason ConstraintsNotSatisfiable: OLM waits until an input changes
	Failed        Outcome = "error"         // reason ErrorPreventedResolution: OLM tries again and again
	Undecided     Outcome = "undecided"     // it takes too long, or the CEL rules of a bundle cost too much
)

// A ClassicResult is the answer of OLM Classic.
type ClassicResult struct {
	Outcome Outcome `json:"outcome"`

	// Install lists the bundles that are installed, as new operators or as updates, sorted by package.
	Install []Choice `json:"install"`

	// Unchanged lists the chosen bundles that are already installed, because their skipRange includes their own
	// version. OLM does nothing for them.
	Unchanged []Choice `json:"unchanged,omitempty"`

	// Generated are the Subscriptions that OLM creates for dependencies; Updated are the Subscriptions of the request
	// with a changed currentCSV, in their new state. If Updated is empty, OLM makes no InstallPlan.
	Generated []Subscription `json:"-"`
	Updated   []Subscription `json:"-"`

	// Message is OLM's message if the outcome is not Resolved.
	Message string `json:"message"`

	// Core lists facts that are unsatisfiable together, but not if any of them is removed. Sorted by Message.
	Core []Fact `json:"core,omitempty"`

	// OrderSensitive means that OLM may choose differently, because its answer depends on the random order of the
	// Subscriptions and installed operators.
	OrderSensitive bool `json:"orderSensitive,omitzero"`

	// Explanation explains the answer; nil without [Options] Explain.
	Explanation *Explanation `json:"-"`
}

// A Choice is a chosen bundle and its origin.
type Choice struct {
	Catalog          string `json:"catalog"`
	CatalogNamespace string `json:"catalogNamespace,omitempty"`
	Package          string `json:"package"`
	Channel          string `json:"channel"`
	Bundle           string `json:"bundle"`
	Replaces         string `json:"replaces"` // the ClusterServiceVersion that it replaces, installed or not

	Meta *declcfg.Meta `json:"-"` // of the bundle
}

// A Fact is one of the constraints that OLM solves.
type Fact struct {
	Kind       FactKind `json:"kind"`
	Subject    string   `json:"subject"`              // see FactKind
	Candidates []string `json:"candidates,omitempty"` // by identifier, CATALOG/NAMESPACE/CHANNEL/BUNDLE
	Message    string   `json:"message"`              // OLM's message

	// Places are the positions of the fact: one or, for a FactOneProvider and FactOneBundle, one per candidate.
	Places []declcfg.Pos `json:"places,omitempty"`

	requires string // the requirement of a FactRequirement
}

// A FactKind is the kind of a Fact, and defines its subject.
type FactKind string

// The kinds of facts.
const (
	FactSubscription FactKind = "subscription" // the Subscription exists
	FactInstalled    FactKind = "installed"    // the operator is installed, and has no Subscription
	FactCandidates   FactKind = "candidates"   // the Subscription requires a candidate, preferably the first
	FactRequirement  FactKind = "requirement"  // the bundle requires one of the candidates
	FactDeprecated   FactKind = "deprecated"   // the bundle has the property olm.deprecated
	FactUpdate       FactKind = "update"       // the bundle cannot be installed along with its predecessor
	FactOneProvider  FactKind = "one-provider" // at most one candidate, because all provide the API
	FactBroken       FactKind = "broken"       // an error that keeps OLM from resolving at all
	FactOneBundle    FactKind = "one-bundle"   // at most one candidate, because all are of the package
)

const defaultTimeout = 10 * time.Second

// Resolve returns the bundles that OLM Classic installs and updates. An error that OLM reports is an outcome; the
// returned error is the error of ctx, or a mistake in the request, such as two Subscriptions with the same name.
func (ns *ClassicRequest) Resolve(ctx context.Context, opts Options) (*ClassicResult, error) {
	if err := ns.check(); err != nil {
		return nil, err
	}
	q := ns.question()
	answer, err := opts.bound(ctx, func(ctx context.Context) (*ClassicResult, error) {
		if err := q.addVariables(ctx); err != nil {
			return nil, err
		}
		return q.solve(ctx)
	})
	if err != nil || !opts.Explain {
		return answer, err
	}
	if answer.Explanation, err = q.explain(ctx, answer, opts); err != nil {
		return nil, err
	}
	return answer, nil
}

// bound calls answer with a timeout. Its error becomes an outcome, unless it is the error of ctx.
func (o Options) bound(
	ctx context.Context, answer func(context.Context) (*ClassicResult, error),
) (*ClassicResult, error) {
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a, err := answer(limited)
	if err == nil {
		return a, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a = &ClassicResult{Outcome: Failed, Install: []Choice{}}
	switch {
	case limited.Err() != nil:
		a.Outcome, a.Message = Undecided, fmt.Sprintf("no answer within %v", timeout)
		return a, nil
	case errors.Is(err, constraint.ErrBudget) || errors.Is(err, constraint.ErrCost) ||
		errors.Is(err, ErrEvaluations) || errors.Is(err, errTooLarge):
		a.Outcome = Undecided // OLM has no such limits
	}
	a.Message, a.Core = err.Error(), broken(err)
	return a, nil
}

// solve solves the constraints on the variables.
func (q *question) solve(ctx context.Context) (*ClassicResult, error) {
	p := q.problem()
	q.solved = p
	answer := &ClassicResult{Outcome: Resolved, Install: []Choice{}}
	chosen, err := p.Solve(ctx)
	if unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err); ok {
		p.core = unsatisfiable.Core
		for _, i := range p.core {
			answer.Core = append(answer.Core, p.fact(i))
		}
		slices.SortFunc(answer.Core, func(a, b Fact) int { return cmp.Compare(a.Message, b.Message) })
		answer.Outcome, answer.Message = Unsatisfiable, "constraints not satisfiable: "+sentences(answer.Core)
		return answer, nil
	}
	if err != nil {
		return nil, err
	}
	p.chosen = chosen
	q.steps(answer, p.bundles(chosen))
	if len(p.Constraints)-p.anchors > 1 {
		reversed := p.Problem
		reversed.Constraints = slices.Clone(p.Constraints)
		slices.Reverse(reversed.Constraints[p.anchors:])
		if other, err := reversed.Solve(ctx); err != nil || !slices.Equal(chosen, other) {
			answer.OrderSensitive, p.other = true, other
		}
	}
	return answer, nil
}

func sentences(facts []Fact) string {
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Message)
	}
	return strings.Join(texts, ", ")
}

// broken returns the errors that keep OLM from resolving, as facts. It omits errors without a place.
func broken(err error) []Fact {
	var all aggregateError
	if !errors.As(err, &all) {
		all = aggregateError{err}
	}
	var facts []Fact
	for _, err := range all {
		if b, ok := errors.AsType[*brokenError](err); ok {
			facts = append(facts, Fact{
				Kind: FactBroken, Subject: b.subject, Message: err.Error(), Places: []declcfg.Pos{b.place.find()},
			})
		}
	}
	return facts
}

// check reports duplicate names in a namespace.
func (ns *ClassicRequest) check() error {
	var errs []error
	seen := map[string]declcfg.Pos{}
	add := func(kind, name string, pos declcfg.Pos) {
		key := fmt.Sprintf("%s %q", kind, name)
		before, twice := seen[key]
		switch {
		case twice && pos.File == "":
			errs = append(errs, errors.New(key+" is defined twice"))
		case twice:
			errs = append(errs, &declcfg.Error{Pos: pos, Err: errors.New(key + " is already defined at " + before.String())})
		}
		seen[key] = pos
	}
	for _, in := range ns.Installed {
		add("ClusterServiceVersion", in.Name, in.Pos)
	}
	for _, s := range ns.Subscriptions {
		add("Subscription", s.Name, s.Pos)
	}
	for _, c := range ns.Catalogs {
		add("CatalogSource", c.Namespace+"/"+c.Name, declcfg.Pos{})
	}
	return errors.Join(errs...)
}

// steps adds OLM's actions for the chosen bundles to the answer.
func (q *question) steps(answer *ClassicResult, chosen []*variable) {
	subscriptions := slices.Clone(q.Subscriptions)
	for _, v := range chosen {
		c := choice(v)
		matching, current := 0, 0
		for i := range subscriptions {
			if s := &subscriptions[i]; s.follows(c) {
				matching++
				if s.CurrentCSV == c.Bundle {
					current++
				}
			}
		}
		isIt := func(in Installed) bool { return in.Name == c.Bundle }
		if matching > 0 && current == matching && slices.ContainsFunc(q.Installed, isIt) {
			answer.Unchanged = append(answer.Unchanged, c)
			continue
		}
		answer.Install = append(answer.Install, c)
		if matching == 0 {
			answer.Generated = append(answer.Generated, generated(c))
		}
		for i := range subscriptions {
			if s := &subscriptions[i]; s.CurrentCSV != c.Bundle && s.follows(c) {
				s.CurrentCSV = c.Bundle
				answer.Updated = append(answer.Updated, *s)
			}
		}
	}
	slices.SortFunc(answer.Install, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Bundle, b.Bundle),
			cmp.Compare(a.Catalog, b.Catalog), cmp.Compare(a.CatalogNamespace, b.CatalogNamespace))
	})
}

func choice(v *variable) Choice {
	c := Choice{
		Catalog: v.catalog.Name, CatalogNamespace: v.catalog.Namespace, Package: v.pkg, Channel: v.channel.name,
		Bundle: v.bundle.name, Replaces: v.edges.Replaces, Meta: v.bundle.meta,
	}
	if n := len(v.updates); n > 0 {
		c.Replaces = v.updates[n-1].bundle.name
	}
	return c
}

// follows reports whether a choice is for the Subscription.
func (s *Subscription) follows(c Choice) bool {
	return s.Package == c.Package && (s.Channel == "" || s.Channel == c.Channel) &&
		(s.anyCatalog() || s.Catalog == c.Catalog && s.CatalogNamespace == c.CatalogNamespace)
}

// generated returns the Subscription that OLM creates for a dependency.
func generated(c Choice) Subscription {
	return Subscription{
		Name:    strings.Join([]string{c.Package, c.Channel, c.Catalog, c.CatalogNamespace}, "-"),
		Package: c.Package, Channel: c.Channel, Catalog: c.Catalog, CatalogNamespace: c.CatalogNamespace,
		StartingCSV: c.Bundle,
	}
}
