package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/operator"
)

// TestOwn checks that roles and service accounts of a bundle remain when the operator is deleted (the play extras), and
// that both operators own the service account during an update.
func TestOwn(t *testing.T) {
	named := func(name string) *v1alpha1.ClusterServiceVersion {
		return &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	}
	const labelsOfOwner = " olm.managed=true,olm.owner.kind=ClusterServiceVersion,olm.owner.namespace=ns,olm.owner=kiln.v2"
	owned := metav1.ObjectMeta{OwnerReferences: operator.OwnedBy(named("kiln.v2"))}
	for _, tt := range []struct {
		name        string
		o           cluster.Kubernetes
		inNamespace bool
		want        string
	}{
		{"a Role of the bundle", &rbacv1.Role{}, true, "[] olm.managed=true"},
		{"a RoleBinding of the bundle", &rbacv1.RoleBinding{}, true, "[] olm.managed=true"},
		{"a ServiceAccount of the bundle", &corev1.ServiceAccount{}, true, "[] olm.managed=true"},
		{"a ClusterRole of the bundle", &rbacv1.ClusterRole{}, false, "[] olm.managed=true,olm.owner=kiln.v2"},
		{"a Role of the operator", &rbacv1.Role{ObjectMeta: owned}, true, "[kiln.v2] olm.managed=true"},
		{"its ServiceAccount", serviceAccount("kiln", owned), true, "[kiln.v1 kiln.v2] olm.managed=true"},
		{"another ServiceAccount", serviceAccount("pot", owned), true, "[kiln.v2] olm.managed=true"},
		{"another object", &corev1.ConfigMap{}, true, "[kiln.v2] olm.managed=true"},
		{"another object of the cluster", &cluster.Other{}, false, "[]" + labelsOfOwner},
	} {
		r := newRun(loaded(t, ""), Options{})
		old := serviceAccount("kiln", metav1.ObjectMeta{OwnerReferences: operator.OwnedBy(named("kiln.v1"))})
		r.State.ServiceAccounts.Put(cluster.Object[*corev1.ServiceAccount]{Value: old})
		x := &execution{account: account{run: r}, plan: &v1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}}
		x.setOwner(tt.o, named("kiln.v2"), tt.inNamespace)
		names := []string{}
		for _, ref := range tt.o.GetOwnerReferences() {
			names = append(names, ref.Name)
		}
		if got := fmt.Sprintf("%v %s", names, labels.Set(tt.o.GetLabels())); strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func serviceAccount(name string, meta metav1.ObjectMeta) *corev1.ServiceAccount {
	meta.Name, meta.Namespace = name, "ns"
	return &corev1.ServiceAccount{ObjectMeta: meta}
}

// TestGrant checks which roles and bindings a service account may create: those with permissions that it has, and all
// if it may escalate or bind the role of that name.
func TestGrant(t *testing.T) {
	const (
		state = `
{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: potters}, subjects: [{kind: ServiceAccount, name: potter, namespace: ns}]}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: kilns}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: kilns, namespace: ns}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: potters}, rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles, clusterroles, rolebindings, clusterrolebindings], verbs: [create]}, EXTRA]}
`
		forbidden = `KIND.rbac.authorization.k8s.io "kilns" is forbidden: user "system:serviceaccount:ns:potter" ` +
			`(groups=["system:serviceaccounts" "system:serviceaccounts:ns" "system:authenticated"]) ` +
			"is attempting to grant RBAC permissions not currently held:\n" + `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`
	)
	type meta = metav1.ObjectMeta
	rules := []rbacv1.PolicyRule{operator.Rule([]string{"get"}, "", "pods")}
	all := map[string]cluster.Kubernetes{
		"roles": &rbacv1.Role{
			TypeMeta: operator.RoleType(operator.KindRole), ObjectMeta: meta{Name: "kilns", Namespace: "ns"}, Rules: rules,
		},
		"clusterroles": &rbacv1.ClusterRole{
			TypeMeta: operator.RoleType(operator.KindClusterRole), ObjectMeta: meta{Name: "kilns"}, Rules: rules,
		},
		"rolebindings": &rbacv1.RoleBinding{
			TypeMeta: operator.RoleType(operator.KindRoleBinding), ObjectMeta: meta{Name: "kilns", Namespace: "ns"},
			RoleRef: operator.RoleRef(operator.KindRole, "kilns"),
		},
		"clusterrolebindings": &rbacv1.ClusterRoleBinding{
			TypeMeta: operator.RoleType(operator.KindClusterRoleBinding), ObjectMeta: meta{Name: "kilns"},
			RoleRef: operator.RoleRef(operator.KindClusterRole, "kilns"),
		},
	}
	for _, test := range []struct {
		extra string // a rule of the account
		may   []string
	}{
		{"{}", nil},
		{`{apiGroups: [""], resources: [pods], verbs: ["*"]}`, slices.Sorted(maps.Keys(all))},
		{"{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate]}", []string{"roles"}},
		{
			"{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [kilns], verbs: [escalate]}",
			[]string{"clusterroles"},
		},
		{"{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [x], verbs: [escalate]}", nil},
		{"{apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: [x], verbs: [bind]}", nil},
		{
			"{apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: [kilns], verbs: [bind]}",
			[]string{"rolebindings"},
		},
		{
			"{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind]}",
			[]string{"clusterrolebindings"},
		},
	} {
		r := newRun(loaded(t, strings.Replace(state, "EXTRA", test.extra, 1)), Options{})
		a := account{r, &corev1.ObjectReference{Name: "potter", Namespace: "ns"}, r.authorizer}
		for resource, o := range all {
			want := strings.Replace(forbidden, "KIND", resource, 1)
			if slices.Contains(test.may, resource) {
				want = "<nil>"
			}
			if got := fmt.Sprint(a.checkPermission(o, o.GetNamespace())); got != want {
				t.Errorf("with %s: %s: got %s\nwant %s", test.extra, resource, got, want)
			}
		}
	}
}
