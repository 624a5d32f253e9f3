package rbac

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/opm-toolchain/opm/internal/operator"
)

// An Authorizer computes the permissions of the service accounts of a cluster.
type Authorizer struct {
	roles        map[types.NamespacedName]*rbacv1.Role
	clusterRoles map[string]*rbacv1.ClusterRole
	bindings     map[subject][]binding
}

// A subject is a user or a group.
type subject struct{ kind, name string }

// A binding is a RoleBinding or ClusterRoleBinding. The namespace of a ClusterRoleBinding is "".
type binding struct {
	namespace string
	ref       rbacv1.RoleRef
}

// NewAuthorizer returns an Authorizer without objects.
func NewAuthorizer() *Authorizer {
	return &Authorizer{
		roles:        map[types.NamespacedName]*rbacv1.Role{},
		clusterRoles: map[string]*rbacv1.ClusterRole{},
		bindings:     map[subject][]binding{},
	}
}

// Add adds an object, which must not change afterwards. It ignores objects that are neither roles nor bindings.
func (a *Authorizer) Add(o metav1.Object) {
	switch o := o.(type) {
	case *rbacv1.Role:
		a.roles[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	case *rbacv1.ClusterRole:
		a.clusterRoles[o.Name] = o
	case *rbacv1.RoleBinding:
		a.bind(binding{o.Namespace, o.RoleRef}, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		a.bind(binding{"", o.RoleRef}, o.Subjects)
	}
}

func (a *Authorizer) bind(b binding, subjects []rbacv1.Subject) {
	for _, s := range subjects {
		key := subject{s.Kind, s.Name}
		if s.Kind == rbacv1.ServiceAccountKind {
			key = user(types.NamespacedName{Namespace: cmp.Or(s.Namespace, b.namespace), Name: s.Name})
		}
		a.bindings[key] = append(a.bindings[key], b)
	}
}

// user returns the user of a service account.
func user(account types.NamespacedName) subject {
	return subject{rbacv1.UserKind, "system:serviceaccount:" + account.Namespace + ":" + account.Name}
}

// Rules returns the rules of a service account in a namespace. If namespace is "", these are the rules for all
// namespaces and for objects without a namespace.
func (a *Authorizer) Rules(account types.NamespacedName, namespace string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, s := range []subject{
		user(account),
		{rbacv1.GroupKind, "system:serviceaccounts:" + account.Namespace},
		{rbacv1.GroupKind, "system:serviceaccounts"},
		{rbacv1.GroupKind, "system:authenticated"},
	} {
		for _, b := range a.bindings[s] {
			if b.namespace == "" || b.namespace == namespace {
				rules = append(rules, a.rulesOf(b)...)
			}
		}
	}
	return rules
}

func (a *Authorizer) rulesOf(b binding) []rbacv1.PolicyRule {
	if b.ref.Kind == operator.KindRole {
		if r := a.roles[types.NamespacedName{Namespace: b.namespace, Name: b.ref.Name}]; r != nil {
			return r.Rules
		}
		return nil
	}
	role := a.clusterRoles[b.ref.Name]
	if role == nil {
		return nil
	}
	return append(slices.Clone(role.Rules), a.aggregated(role)...)
}

// aggregated returns the rules that Kubernetes adds to a ClusterRole with an aggregation rule.
func (a *Authorizer) aggregated(role *rbacv1.ClusterRole) []rbacv1.PolicyRule {
	if role.AggregationRule == nil {
		return nil
	}
	var rules []rbacv1.PolicyRule
	for _, s := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			continue // an API server refuses it
		}
		for name, other := range a.clusterRoles {
			if name != role.Name && selector.Matches(labels.Set(other.Labels)) {
				rules = append(rules, other.Rules...)
			}
		}
	}
	return rules
}

// maxCombinations is the maximum number of combinations of verbs, groups, resources and names of a rule to compare.
const maxCombinations = 100_000

// ErrTooLarge is the error about a rule with too many combinations of verbs, groups, resources and names to compare.
var ErrTooLarge = errors.New("rule has too many combinations")

// Covers reports whether rules include all permissions of a rule, by the algorithm of Kubernetes. The only error is
// ErrTooLarge.
func Covers(rules []rbacv1.PolicyRule, rule rbacv1.PolicyRule) (bool, error) {
	if slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
		return true, nil
	}
	combinations := max(1, len(rule.Verbs))
	for _, n := range []int{len(rule.APIGroups), len(rule.Resources), len(rule.ResourceNames), len(rule.NonResourceURLs)} {
		if combinations *= max(1, n); combinations > maxCombinations {
			return false, ErrTooLarge
		}
	}
	ok, _ := validation.Covers(rules, []rbacv1.PolicyRule{rule})
	return ok, nil
}

// Missing returns the permissions of rules that a user lacks who has the rules of held: as an API server describes them
// when it refuses a role with these rules, sorted. It ignores rules that are too large to compare.
func Missing(held, rules []rbacv1.PolicyRule) []string {
	var lacking []rbacv1.PolicyRule
	for _, rule := range rules {
		if ok, err := Covers(held, rule); err == nil && !ok {
			lacking = append(lacking, rule)
		}
	}
	_, missing := validation.Covers(held, lacking)
	var texts []string
	for _, rule := range compact(missing) {
		texts = append(texts, describe(rule))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// compact joins rules about one resource that differ in their verbs, as an API server does before it describes them.
func compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var joined []rbacv1.PolicyRule
	for _, rule := range rules {
		verbs := rule.Verbs
		rule.Verbs = nil
		i := slices.IndexFunc(joined, func(r rbacv1.PolicyRule) bool {
			r.Verbs = nil
			return len(rule.NonResourceURLs) == 0 && equality.Semantic.DeepEqual(r, rule)
		})
		if i < 0 {
			rule.Verbs = slices.Clone(verbs)
			joined = append(joined, rule)
			continue
		}
		joined[i].Verbs = append(joined[i].Verbs, verbs...)
	}
	return joined
}

// describe returns a rule in the words of an API server.
func describe(r rbacv1.PolicyRule) string {
	var parts []string
	for _, field := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(field.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", field.name, field.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
