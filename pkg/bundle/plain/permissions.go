package plain

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type permissions = v1alpha1.StrategyDeploymentPermissions

// defaultAccount is the service account that every namespace has.
const defaultAccount = "default"

func accountOf(p permissions) string { return cmp.Or(p.ServiceAccountName, defaultAccount) }

// serviceAccounts adds those that permissions name.
func (g *generator) serviceAccounts() {
	spec := &g.CSV.Spec.InstallStrategy.StrategySpec
	var names []string
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		names = append(names, accountOf(p))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != defaultAccount {
			g.add(&corev1.ServiceAccount{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: g.meta(name),
			})
		}
	}
}

// roles adds permissions in the watched namespace, unless all namespaces are watched.
func (g *generator) roles() {
	if g.Watch == "" {
		return
	}
	for _, p := range g.CSV.Spec.InstallStrategy.StrategySpec.Permissions {
		meta := metav1.ObjectMeta{Namespace: g.Watch, Name: g.roleName(p)}
		g.add(&rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: meta, Rules: p.Rules})
		g.add(&rbacv1.RoleBinding{
			TypeMeta: rbac("RoleBinding"), ObjectMeta: meta, Subjects: g.subjects(p), RoleRef: roleRef("Role", meta.Name),
		})
	}
}

// clusterRoles adds permissions in the whole cluster. If all namespaces are watched these are all permissions, and
// those that were meant for one namespace may list namespaces.
func (g *generator) clusterRoles() {
	spec := &g.CSV.Spec.InstallStrategy.StrategySpec
	all := slices.Clone(spec.ClusterPermissions)
	if g.Watch == "" {
		for _, p := range spec.Permissions {
			p.Rules = append(slices.Clone(p.Rules), rbacv1.PolicyRule{
				Verbs: []string{"get", "list", "watch"}, APIGroups: []string{corev1.GroupName}, Resources: []string{"namespaces"},
			})
			all = append(all, p)
		}
	}
	for _, p := range all {
		meta := metav1.ObjectMeta{Name: g.roleName(p)}
		g.add(&rbacv1.ClusterRole{TypeMeta: rbac("ClusterRole"), ObjectMeta: meta, Rules: p.Rules})
		g.add(&rbacv1.ClusterRoleBinding{
			TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: meta, Subjects: g.subjects(p),
			RoleRef: roleRef("ClusterRole", meta.Name),
		})
	}
}

// roleName returns the name of a role and its binding, which has a hash of the permissions.
func (g *generator) roleName(p permissions) string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	sum := sha256.Sum224(append(text, '\n')) // which OLM encodes with
	return named(g.CSV.Name+"-"+accountOf(p), new(big.Int).SetBytes(sum[:]).Text(36))
}

func (g *generator) subjects(p permissions) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: g.Namespace, Name: accountOf(p)}}
}

func rbac(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}
