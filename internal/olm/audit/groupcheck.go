package audit

import (
	"context"
	"fmt"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A GroupCheck is the effect that a new OperatorGroup would have on a cluster.
type GroupCheck struct {
	Group   simulate.Ref `json:"group"`
	Place   declcfg.Pos  `json:"place,omitzero"`
	Targets []string     `json:"targets"` // [""] for all namespaces

	// Siblings are the other OperatorGroups of its namespace. OLM installs nothing in a namespace with several groups.
	Siblings []simulate.Ref `json:"siblings"`

	Broken   []Membership `json:"broken"`   // operators that would start to fail, or would fail for another reason
	Repaired []Membership `json:"repaired"` // operators that would no longer fail

	// Shared are the groups of other namespaces that provide APIs and have target namespaces in common with the group.
	// Its operators cannot provide the same APIs.
	Shared []SharedGroup `json:"shared"`

	Assumed []string `json:"assumed"`
}

// A Membership is an operator that fails because it is not a member of its OperatorGroup.
type Membership struct {
	Object  simulate.Ref             `json:"object"`
	Place   declcfg.Pos              `json:"place,omitzero"`
	Reason  v1alpha1.ConditionReason `json:"reason"`
	Message string                   `json:"message"`
	Why     string                   `json:"why,omitzero"` // the rule that OLM follows
}

// A SharedGroup is an OperatorGroup that has target namespaces in common with another one.
type SharedGroup struct {
	Group      simulate.Ref `json:"group"`
	Place      declcfg.Pos  `json:"place,omitzero"`
	Namespaces []string     `json:"namespaces"` // that both target; [""] for all
	APIs       []string     `json:"apis"`       // that it provides: Kind.version.group
}

// CheckGroup returns the effect of adding objects to a cluster: one OperatorGroup, and the other objects of its
// manifest, such as a Namespace. The group may replace one of the same name. The states do not change. The error is
// about the group, or ctx.Err().
func CheckGroup(ctx context.Context, state, added *cluster.State) (*GroupCheck, error) {
	if n := added.OperatorGroups.Len(); n != 1 {
		return nil, fmt.Errorf("want one OperatorGroup, found %d", n)
	}
	before, err := simulate.OperatorGroups(ctx, state)
	if err != nil {
		return nil, err
	}
	with := before.State.Clone()
	for o := range added.All() {
		if g, ok := o.Value.(*operatorsv1.OperatorGroup); ok {
			o.Value = merged(with, g)
		}
		with.Put(o)
	}
	after, err := simulate.OperatorGroups(ctx, with)
	if err != nil {
		return nil, err
	}
	var g cluster.Object[*operatorsv1.OperatorGroup]
	for o := range added.OperatorGroups.All() {
		g, _ = after.State.OperatorGroups.Get(o.Value.Namespace, o.Value.Name)
	}
	if err := after.Invalid[operatorgroup.Key(g.Value)]; err != nil {
		return nil, &declcfg.Error{Pos: g.Pos, Err: fmt.Errorf("%s: %w", simulate.RefTo(g.Value), err)}
	}
	siblings := []simulate.Ref{}
	for o := range after.State.OperatorGroups.In(g.Value.Namespace) {
		if o.Value != g.Value {
			siblings = append(siblings, simulate.RefTo(o.Value))
		}
	}
	return &GroupCheck{
		Group: simulate.RefTo(g.Value), Place: g.Pos, Siblings: siblings,
		Targets: append([]string{}, g.Value.Status.Namespaces...),
		Broken:  broken(before, after), Repaired: repaired(before, after), Shared: sharedGroups(after, g.Value),
		Assumed: after.Assumed,
	}, nil
}

// merged returns a group as "kubectl apply" would leave it: an existing group keeps its annotations and status.
func merged(state *cluster.State, g *operatorsv1.OperatorGroup) *operatorsv1.OperatorGroup {
	old, ok := state.OperatorGroups.Get(g.Namespace, g.Name)
	if !ok {
		return g
	}
	changed := old.Value.DeepCopy()
	changed.Spec = g.Spec
	for key, value := range g.Annotations {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	return changed
}

// broken returns the operators that start to fail because of their group, or fail for a different reason.
func broken(before, after *simulate.Groups) []Membership {
	all := []Membership{}
	for o := range after.State.ClusterServiceVersions.All() {
		old, _ := before.State.ClusterServiceVersions.Get(o.Value.Namespace, o.Value.Name)
		unchanged := failsMembership(old.Value) && old.Value.Status.Reason == o.Value.Status.Reason
		if failsMembership(o.Value) && !unchanged {
			all = append(all, membership(after, o))
		}
	}
	return all
}

// repaired returns the operators that no longer fail because of their group.
func repaired(before, after *simulate.Groups) []Membership {
	all := []Membership{}
	for o := range before.State.ClusterServiceVersions.All() {
		now, _ := after.State.ClusterServiceVersions.Get(o.Value.Namespace, o.Value.Name)
		if failsMembership(o.Value) && !failsMembership(now.Value) {
			all = append(all, membership(before, o))
		}
	}
	return all
}

// membership returns an operator with the reason why it fails.
func membership(in *simulate.Groups, o cluster.Object[*v1alpha1.ClusterServiceVersion]) Membership {
	status := &o.Value.Status
	m := Membership{Object: simulate.RefTo(o.Value), Place: o.Pos, Reason: status.Reason, Message: status.Message}
	for _, e := range in.Events {
		if e.Object == m.Object {
			m.Why = e.Why
		}
	}
	return m
}

// failsMembership reports whether an operator fails because of its group.
func failsMembership(c *v1alpha1.ClusterServiceVersion) bool {
	_, ok := operatorgroup.Recovered(c.Status.Reason)
	return ok && c.Status.Phase == v1alpha1.CSVPhaseFailed && !c.IsCopied()
}

// sharedGroups returns the groups of other namespaces that provide APIs and have target namespaces in common with a
// group.
func sharedGroups(in *simulate.Groups, with *operatorsv1.OperatorGroup) []SharedGroup {
	all := []SharedGroup{}
	for o := range in.State.OperatorGroups.All() {
		apis := operatorgroup.Annotated(o.Value)
		namespaces := in.Index.Shared(operatorgroup.Key(with), operatorgroup.Key(o.Value))
		if o.Value.Namespace != with.Namespace && len(apis) > 0 && len(namespaces) > 0 {
			all = append(all, SharedGroup{
				Group: simulate.RefTo(o.Value), Place: o.Pos, Namespaces: namespaces,
				APIs: strings.Split(operatorgroup.Annotation(apis), ","),
			})
		}
	}
	return all
}

// CanAdd reports whether the group can be added: it is the only group of its namespace, and no operator would start to
// fail.
func (c *GroupCheck) CanAdd() bool { return len(c.Siblings) == 0 && len(c.Broken) == 0 }

// Report returns a report about the effect of the group.
func (c *GroupCheck) Report() *report.Report {
	r := &report.Report{}
	r.Line("%s: %s", report.Name(c.Group.String()), c.summary())
	if len(c.Siblings) > 0 {
		r.Item(1, "%s", legible.Message(c.siblings()))
	}
	for _, m := range c.Broken {
		r.Item(1, "- %s: %s: %s", report.Name(m.Object.String()), m.Reason, legible.Message(m.Message))
		r.Item(3, "%s", legible.Message(m.Why))
	}
	for _, m := range c.Repaired {
		r.Item(1, "+ %s no longer fails: %s", report.Name(m.Object.String()), m.Reason)
	}
	for _, s := range c.Shared {
		r.Item(1, "its operators cannot provide APIs that operators of %s provide in %s: %s",
			report.Name(s.Group.String()), operatorgroup.TargetText(s.Namespaces), report.List(s.APIs))
	}
	for _, a := range c.Assumed {
		r.Item(0, "assumed: %s", legible.Message(a))
	}
	return r
}

func (c *GroupCheck) summary() string {
	verdict := "may be added"
	switch {
	case len(c.Broken) > 0:
		verdict = "breaks " + plural.Of(len(c.Broken), "operator")
	case !c.CanAdd():
		verdict = "may not be added"
	}
	return verdict + "; it targets " + operatorgroup.TargetText(c.Targets)
}

// siblings describes the groups that the namespace already has.
func (c *GroupCheck) siblings() string {
	var names []string
	for _, ref := range c.Siblings {
		names = append(names, ref.Name)
	}
	return "the namespace has an OperatorGroup already: " + plural.Some(names) +
		"; OLM installs nothing in a namespace with several"
}
