package simulate

import (
	"context"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/operatorgroup"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// groupRoles keeps the ClusterRoles of OperatorGroups, which aggregate those of the APIs that their operators provide.
func groupRoles(_ context.Context, r *run) error {
	const why = "each OperatorGroup has roles for the users of its APIs"
	for o := range r.State.OperatorGroups.All() {
		if meta.IsStatusConditionTrue(o.Value.Status.Conditions, operatorsv1.OperatorGroupServiceAccountCondition) {
			continue // OLM does nothing with a group whose service account is missing
		}
		apis := operatorgroup.Annotated(o.Value)
		for c := range r.State.ClusterServiceVersions.In(o.Value.Namespace) {
			if c.Value.IsCopied() {
				continue
			}
			if provided, err := operatorgroup.Provided(c.Value); err == nil {
				apis = apis.Union(provided)
			}
		}
		roles := rbac.ForGroup(o.Value, apis.UnsortedList())
		ensureAll(r, &r.State.ClusterRoles, roles, "for OperatorGroup "+o.Value.Namespace+"/"+o.Value.Name, why)
		r.aggregate(roles)
	}
	return nil
}

// aggregate corrects what the ClusterRoles of a group aggregate.
func (r *run) aggregate(roles []*rbacv1.ClusterRole) {
	said := false
	for _, role := range roles {
		found, _ := r.State.ClusterRoles.Get("", role.Name)
		if equality.Semantic.DeepEqual(found.Value.AggregationRule, role.AggregationRule) {
			continue
		}
		clone := found.Value.DeepCopy()
		clone.AggregationRule = role.AggregationRule
		r.State.ClusterRoles.Put(cluster.Object[*rbacv1.ClusterRole]{Value: clone, Pos: found.Pos})
		if !said { // the others are alike
			r.event(Updated, clone, found.Pos, "aggregates the APIs that the group provides now; so do its other roles",
				computed("the APIs of the group changed"))
		}
		said = true
	}
}

// lift gives an operator that watches all namespaces everywhere what it asks for in its own.
func (c *copier) lift(o *v1alpha1.ClusterServiceVersion) {
	const text, why = "lifted from the Roles of the operator", "it watches all namespaces"
	owned := c.owned(o)
	if len(owned.Roles) == 0 || c.allowed(o, metav1.NamespaceAll) {
		return
	}
	lifted := owned.Lift()
	ensureAll(c.run, &c.State.ClusterRoles, lifted.ClusterRoles, text, why)
	ensureAll(c.run, &c.State.ClusterRoleBindings, lifted.ClusterRoleBindings, text, why)
}

// permit gives an operator in other namespaces what it asks for in its own.
func (c *copier) permit(o *v1alpha1.ClusterServiceVersion, namespaces []string) {
	const text, why = "copied from the Roles of the operator", "it watches the namespace"
	owned := c.owned(o)
	for _, namespace := range namespaces {
		copied, ok := c.State.ClusterServiceVersions.Get(namespace, o.Name)
		if !ok || c.allowed(o, namespace) {
			continue
		}
		there := owned.CopyTo(copied.Value)
		ensureAll(c.run, &c.State.Roles, there.Roles, text, why)
		ensureAll(c.run, &c.State.RoleBindings, there.RoleBindings, text, why)
	}
}

// allowed reports whether an operator may already do in a namespace, or everywhere, what it asks for in its own.
func (c *copier) allowed(o *v1alpha1.ClusterServiceVersion, namespace string) bool {
	strategy, err := rbac.Strategy(o)
	if err != nil {
		return true
	}
	for _, p := range strategy.Permissions {
		account := types.NamespacedName{Namespace: o.Namespace, Name: p.ServiceAccountName}
		rules := c.permissions().Rules(account, namespace)
		for _, rule := range p.Rules {
			if ok, err := rbac.Covers(rules, rule); !ok || err != nil {
				return false
			}
		}
	}
	return true
}

// owned returns the Roles and bindings of an operator in its own namespace.
func (c *copier) owned(o *v1alpha1.ClusterServiceVersion) *rbac.Account {
	a := &rbac.Account{}
	for role := range c.State.Roles.In(o.Namespace) {
		if rbac.IsOwned(role.Value, o) {
			a.Roles = append(a.Roles, role.Value)
		}
	}
	for binding := range c.State.RoleBindings.In(o.Namespace) {
		if rbac.IsOwned(binding.Value, o) {
			a.RoleBindings = append(a.RoleBindings, binding.Value)
		}
	}
	return a
}

// ensureAll creates those objects that are missing, all of one kind and namespace. They are one Event.
func ensureAll[P cluster.Kubernetes](r *run, s *cluster.Store[P], objects []P, text, why string) {
	var first P
	var names []string
	for _, o := range objects {
		if _, ok := s.Get(o.GetNamespace(), o.GetName()); ok {
			continue
		}
		if len(names) == 0 {
			first = o
		}
		names = append(names, o.GetName())
		s.Put(cluster.Object[P]{Value: o})
	}
	if len(names) > 1 {
		text += "; also " + some(names[1:])
	}
	if len(names) > 0 {
		r.event(Created, first, declcfg.Pos{}, text, computed(why))
	}
}

// some returns the first names of a list, and how many others there are.
func some(names []string) string {
	const most = 5
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + plural.Number(len(names)-most) + " others"
}
