package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Outcome is the result of a simulation for a Subscription or ClusterExtension.
type Outcome struct {
	Object Ref         `json:"object"`
	Place  declcfg.Pos `json:"place,omitzero"` // if the object was read
	Before string      `json:"before,omitempty"`
	After  string      `json:"after,omitempty"` // the installed bundle; Before and After are empty for none
	Phase  string      `json:"phase,omitempty"` // of After for a Subscription, or Missing
	Next   string      `json:"next,omitempty"`  // the chosen bundle that is not installed yet

	// Waiting are the elements of Result.Waiting about the object, its InstallPlans and its operators.
	Waiting []Wait `json:"waiting,omitempty"`

	// BlockedBy are the other Subscriptions of the namespace that prevent the update, by name.
	BlockedBy []Blocker `json:"blockedBy,omitempty"`

	// Explanation explains why OLM Classic cannot resolve the namespace. It is set for the first of the conflicting
	// Subscriptions only.
	Explanation *resolve.Explanation `json:"explanation,omitempty"`

	// Catalogs explain why OLM v1 finds no bundle.
	Catalogs []resolve.V1Catalog `json:"catalogs,omitempty"`

	// Help are actions of a user that would resolve the problem.
	Help []string `json:"help,omitempty"`

	failedPlan string            // why its InstallPlan failed; "" if it did not
	inConflict bool              // the Subscriptions of the namespace cannot all be resolved
	extension  *resolve.V1Result // the last answer about a ClusterExtension that is not resolved
	related    map[Ref]bool      // the object, its InstallPlans and its operators
}

// phaseMissing is the phase of a ClusterServiceVersion that does not exist.
const phaseMissing = "Missing"

// maxExplained is the maximum number of explained namespaces, since explaining a namespace resolves it many times.
const maxExplained = 50

// setOutcomes sets the Outcomes of the Subscriptions and ClusterExtensions that exist at the end.
func (r *run) setOutcomes(ctx context.Context) error {
	r.Outcomes = []Outcome{}
	for o := range r.State.Subscriptions.All() {
		r.Outcomes = append(r.Outcomes, r.outcome(o))
	}
	for o := range r.State.ClusterExtensions.All() {
		out := Outcome{Object: RefTo(o.Value), Place: o.Pos, After: o.Value.Status.Install.Bundle.Name}
		if before, ok := r.input.ClusterExtensions.Get("", o.Value.Name); ok {
			out.Before = before.Value.Status.Install.Bundle.Name
		}
		out.related = map[Ref]bool{out.Object: true}
		r.Outcomes = append(r.Outcomes, out)
	}
	owner := map[Ref]*Outcome{}
	for i := range r.Outcomes {
		for ref := range r.Outcomes[i].related {
			owner[ref] = &r.Outcomes[i]
		}
	}
	for _, w := range r.Waiting {
		if out := owner[w.Object]; out != nil {
			out.Waiting = append(out.Waiting, w)
		}
	}
	conflicts := map[string][]Blocker{}
	for namespace, b := range r.blocked {
		var names []string
		for _, f := range b.answer.Core {
			if f.Kind == resolve.FactSubscription {
				names = append(names, f.Subject)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			out := owner[Ref{v1alpha1.SubscriptionKind, namespace, name}]
			conflicts[namespace] = append(conflicts[namespace], out.blocker(b.answer))
		}
	}
	for i := range r.Outcomes {
		if out := &r.Outcomes[i]; len(out.Waiting) > 0 {
			r.setBlockers(out, conflicts[out.Object.Namespace])
		}
	}
	return r.explainOutcomes(ctx, conflicts)
}

// outcome returns the Outcome of a Subscription, without the fields that explain why it waits.
func (r *run) outcome(o cluster.Object[*v1alpha1.Subscription]) Outcome {
	ref, status := RefTo(o.Value), &o.Value.Status
	out := Outcome{Object: ref, Place: o.Pos, After: status.InstalledCSV, related: map[Ref]bool{ref: true}}
	if csv, ok := r.State.ClusterServiceVersions.Get(ref.Namespace, out.After); ok && !csv.Value.IsCopied() {
		out.Phase = string(csv.Value.Status.Phase)
	} else if out.After != "" {
		out.Phase = phaseMissing
	}
	plan, ok := r.State.InstallPlans.Get(ref.Namespace, install.PlanName(status))
	if ok && plan.Value.Status.Phase == v1alpha1.InstallPlanPhaseFailed {
		message := plan.Value.Status.GetCondition(v1alpha1.InstallPlanInstalled).Message
		out.failedPlan = fmt.Sprintf("InstallPlan %s/%s failed: %s", ref.Namespace, plan.Value.Name,
			cmp.Or(message, plan.Value.Status.Message, "it does not say why"))
	}
	if status.CurrentCSV != status.InstalledCSV {
		out.Next = status.CurrentCSV
	}
	operators := append([]string{status.CurrentCSV, status.InstalledCSV}, r.historyOf(ref).States()...)
	if before, ok := r.input.Subscriptions.Get(ref.Namespace, ref.Name); ok {
		out.Before = before.Value.Status.InstalledCSV
		operators = append(operators, out.Before, before.Value.Status.CurrentCSV)
	}
	for _, name := range operators {
		out.related[Ref{v1alpha1.ClusterServiceVersionKind, ref.Namespace, name}] = true
	}
	for _, state := range []*cluster.State{r.input, r.State} {
		for p := range state.InstallPlans.In(ref.Namespace) {
			about := func(name string) bool { return slices.Contains(operators, name) }
			if slices.ContainsFunc(p.Value.Spec.ClusterServiceVersionNames, about) {
				out.related[Ref{v1alpha1.InstallPlanKind, ref.Namespace, p.Value.Name}] = true
			}
		}
	}
	return out
}

// FailedPlan describes the InstallPlan of a Subscription that failed, and why; "" if it did not.
func (o *Outcome) FailedPlan() string { return o.failedPlan }

// blocker explains how a Subscription contributes to the conflict of its namespace: by the reason why its operator
// waits, or else by its requirement.
func (o *Outcome) blocker(answer *install.NamespaceResult) Blocker {
	b := Blocker{o.Object, o.Place, answer.Message}
	if i := slices.IndexFunc(o.Waiting, o.isAboutOther); i >= 0 {
		b.Message = o.Waiting[i].String()
		return b
	}
	for _, f := range answer.Core {
		if f.Subject == o.Object.Name && f.Kind != resolve.FactSubscription {
			b.Message = f.Message
		}
	}
	return b
}

// isAboutOther reports whether an operator or InstallPlan of the object waits, and not the object itself.
func (o *Outcome) isAboutOther(w Wait) bool { return w.Object != o.Object }

// setBlockers sets the other Subscriptions of a conflict, which prevent the update of this one, and the help that does
// not need a solver.
func (r *run) setBlockers(out *Outcome, conflict []Blocker) {
	namespace := out.Object.Namespace
	subscription, ok := r.State.Subscriptions.Get(namespace, out.Object.Name)
	if !ok || out.Object.Kind != v1alpha1.SubscriptionKind {
		return
	}
	out.inConflict = len(conflict) > 0
	for _, b := range conflict {
		if b.Object != out.Object {
			out.BlockedBy = append(out.BlockedBy, b)
		}
	}
	plan, ok := r.State.InstallPlans.Get(namespace, install.PlanName(&subscription.Value.Status))
	if ok && plan.Value.Status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval {
		out.Help = append(out.Help, "approve InstallPlan "+plan.Value.Name)
		if subscription.Value.Spec.InstallPlanApproval != v1alpha1.ApprovalManual {
			for o := range r.State.Subscriptions.In(out.Object.Namespace) {
				if o.Value.Spec.InstallPlanApproval == v1alpha1.ApprovalManual {
					out.BlockedBy = append(out.BlockedBy, Blocker{
						RefTo(o.Value), o.Pos, "its installPlanApproval Manual applies to all InstallPlans of the namespace",
					})
				}
			}
		}
	}
	switch groups := r.State.OperatorGroups.LenIn(namespace); {
	case r.blocked[namespace].answer == nil:
	case groups == 0:
		out.Help = append(out.Help, "create an OperatorGroup in namespace "+namespace)
	case groups > 1:
		out.Help = append(out.Help, "delete all OperatorGroups of namespace "+namespace+" but one")
	}
}

// explainOutcomes adds explanations. The explanation of a namespace is set in the first Subscription of its conflict,
// unless the operator of that Subscription waits: in that case the wait is the reason.
func (r *run) explainOutcomes(ctx context.Context, conflicts map[string][]Blocker) error {
	explained := 0
	for i := range r.Outcomes {
		out := &r.Outcomes[i]
		if answer := r.refused[out.Object.Name]; answer != nil && out.Object.Kind != v1alpha1.SubscriptionKind {
			out.extension, out.Catalogs = answer, answer.Catalogs
		}
		conflict := conflicts[out.Object.Namespace]
		if len(conflict) == 0 || conflict[0].Object != out.Object || explained == maxExplained ||
			slices.ContainsFunc(out.Waiting, out.isAboutOther) {
			continue
		}
		var err error
		out.Explanation, err = r.blocked[out.Object.Namespace].answer.Explain(ctx, r.opts.Resolve)
		if err != nil {
			return err
		}
		explained++
	}
	return nil
}

// Only returns the part of a result about one Subscription: its Outcome, and the Events of the Subscription, its
// InstallPlans and its operators. It returns nil if there is no such Subscription.
func (r *Result) Only(namespace, name string) *Result {
	ref := Ref{v1alpha1.SubscriptionKind, namespace, name}
	i := slices.IndexFunc(r.Outcomes, func(o Outcome) bool { return o.Object == ref })
	if i < 0 {
		return nil
	}
	only, out := *r, r.Outcomes[i]
	only.Outcomes, only.Waiting = []Outcome{out}, append([]Wait{}, out.Waiting...)
	only.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e Event) bool { return !out.related[e.Object] })
	return &only
}

// Without returns the part of a result about a Subscription that was deleted: it waits for its creation.
func (r *Result) Without(namespace, name string) *Result {
	only := *r
	only.Outcomes, only.Events = []Outcome{}, []Event{}
	ref := Ref{v1alpha1.SubscriptionKind, namespace, name}
	only.Waiting = []Wait{{Object: ref, For: "its creation: it was deleted", Verdict: Computed}}
	return &only
}
