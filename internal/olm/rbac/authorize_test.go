package rbac

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/operator"
)

const roles = `
- kind: Role
  metadata: {name: pods, namespace: a}
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
- kind: ClusterRole
  metadata: {name: nodes, labels: {nodes: "true"}}
  rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
- kind: ClusterRole
  metadata: {name: all}
  aggregationRule: {clusterRoleSelectors: [{matchLabels: {nodes: "true"}}, {matchExpressions: [{operator: Wrong}]}]}
`

// TestAuthorizer checks that bindings may name a service account as a user, or by its groups.
func TestAuthorizer(t *testing.T) {
	for _, tt := range []struct {
		name, namespace  string // of the binding
		subject          string
		kind, role       string
		here, everywhere bool
	}{
		{"account", "a", "{kind: ServiceAccount, name: kiln, namespace: o}", "Role", "pods", true, false},
		{"other account", "a", "{kind: ServiceAccount, name: kiln, namespace: a}", "Role", "pods", false, false},
		{"user", "a", "{kind: User, name: 'system:serviceaccount:o:kiln'}", "Role", "pods", true, false},
		{"group of namespace", "a", "{kind: Group, name: 'system:serviceaccounts:o'}", "Role", "pods", true, false},
		{"group of accounts", "a", "{kind: Group, name: 'system:serviceaccounts'}", "Role", "pods", true, false},
		{"everyone", "a", "{kind: Group, name: 'system:authenticated'}", "Role", "pods", true, false},
		{"other group", "a", "{kind: Group, name: 'system:serviceaccounts:a'}", "Role", "pods", false, false},
		{"other namespace", "b", "{kind: ServiceAccount, name: kiln, namespace: o}", "Role", "pods", false, false},
		{"no role", "a", "{kind: ServiceAccount, name: kiln, namespace: o}", "Role", "none", false, false},
		{"ClusterRole here", "a", "{kind: ServiceAccount, name: kiln, namespace: o}", "ClusterRole", "nodes", true, false},
		{"ClusterRole", "", "{kind: ServiceAccount, name: kiln, namespace: o}", "ClusterRole", "nodes", true, true},
		{"aggregated", "", "{kind: ServiceAccount, name: kiln, namespace: o}", "ClusterRole", "all", true, true},
		{"no ClusterRole", "", "{kind: ServiceAccount, name: kiln, namespace: o}", "ClusterRole", "none", false, false},
	} {
		a := NewAuthorizer()
		addRoles(t, a)
		var s rbacv1.Subject
		if err := yaml.Unmarshal([]byte(tt.subject), &s); err != nil {
			t.Fatal(err)
		}
		ref := operator.RoleRef(tt.kind, tt.role)
		if tt.namespace == "" {
			a.Add(&rbacv1.ClusterRoleBinding{RoleRef: ref, Subjects: []rbacv1.Subject{s}})
		} else {
			meta := metav1.ObjectMeta{Namespace: tt.namespace}
			a.Add(&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{s}})
		}
		kiln := types.NamespacedName{Namespace: "o", Name: "kiln"}
		here, everywhere := len(a.Rules(kiln, "a")) > 0, len(a.Rules(kiln, "")) > 0
		if here != tt.here || everywhere != tt.everywhere {
			t.Errorf("%s: here %t, everywhere %t", tt.name, here, everywhere)
		}
	}
}

// TestAuthorizerNamespace checks that a service account without a namespace is in the namespace of the binding.
func TestAuthorizerNamespace(t *testing.T) {
	a := NewAuthorizer()
	addRoles(t, a)
	a.Add(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "o"}, RoleRef: operator.RoleRef(operator.KindClusterRole, "nodes"),
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "kiln"}},
	})
	if rules := a.Rules(types.NamespacedName{Namespace: "o", Name: "kiln"}, "o"); len(rules) == 0 {
		t.Error("it may do nothing")
	}
}

func addRoles(t *testing.T, a *Authorizer) {
	t.Helper()
	var all []rbacv1.ClusterRole
	if err := yaml.Unmarshal([]byte(roles), &all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Kind == operator.KindRole {
			a.Add(&rbacv1.Role{ObjectMeta: r.ObjectMeta, Rules: r.Rules})
			continue
		}
		a.Add(&r)
	}
}

func TestCovers(t *testing.T) {
	pods := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	get, list := pods, pods
	get.Verbs, list.Verbs = pods.Verbs[:1], pods.Verbs[1:]
	named := pods
	named.ResourceNames = []string{"x"}
	for _, tt := range []struct {
		name  string
		rules []rbacv1.PolicyRule
		rule  rbacv1.PolicyRule
		want  bool
	}{
		{"same", []rbacv1.PolicyRule{pods}, pods, true},
		{"together", []rbacv1.PolicyRule{get, list}, pods, true},
		{"in part", []rbacv1.PolicyRule{get}, pods, false},
		{"one of all", []rbacv1.PolicyRule{pods}, named, true},
		{"all of one", []rbacv1.PolicyRule{named}, pods, false},
		{"nothing asked", nil, rbacv1.PolicyRule{}, true},
	} {
		if got, err := Covers(tt.rules, tt.rule); got != tt.want || err != nil {
			t.Errorf("%s: got %t, %v", tt.name, got, err)
		}
	}
}

// TestCoversLargeRules checks that a rule with a million combinations is compared quickly if it is granted literally,
// and rejected otherwise.
func TestCoversLargeRules(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, strconv.Itoa(i))
	}
	large := rbacv1.PolicyRule{Verbs: names, APIGroups: names, Resources: names, ResourceNames: names}
	if ok, err := Covers([]rbacv1.PolicyRule{large}, large); !ok || err != nil {
		t.Errorf("got %t, %v", ok, err)
	}
	other := large
	other.Verbs = slices.Clone(names[1:])
	if _, err := Covers([]rbacv1.PolicyRule{large}, other); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got error %v", err)
	}
}

// TestMissing checks the descriptions of missing permissions: sorted, one for each resource, with all verbs. An API
// server repeats the verbs that several rules have.
func TestMissing(t *testing.T) {
	var held, rules []rbacv1.PolicyRule
	for text, into := range map[string]*[]rbacv1.PolicyRule{
		`[{apiGroups: [""], resources: [pots], verbs: [get]}, {apiGroups: [""], resources: [glazes], verbs: ["*"]}]`: &held,
		`[{apiGroups: [""], resources: [pots, glazes, kilns], verbs: [list, get]},
		{apiGroups: [""], resources: [kilns], verbs: [get]},
		{apiGroups: [crafts.example], resources: [wheels], resourceNames: [a, b], verbs: [get]},
		{nonResourceURLs: [/metrics], verbs: [get]}]`: &rules,
	} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`{APIGroups:[""], Resources:["kilns"], Verbs:["list" "get" "get"]}`,
		`{APIGroups:[""], Resources:["pots"], Verbs:["list"]}`,
		`{APIGroups:["crafts.example"], Resources:["wheels"], ResourceNames:["a"], Verbs:["get"]}`,
		`{APIGroups:["crafts.example"], Resources:["wheels"], ResourceNames:["b"], Verbs:["get"]}`,
		`{NonResourceURLs:["/metrics"], Verbs:["get"]}`,
	}
	if got := Missing(held, rules); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := Missing(rules, held[:1]); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
