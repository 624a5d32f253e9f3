package plain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster/operator"
)

func (g *generator) serviceAccounts() {
	spec := &g.CSV.Spec.InstallStrategy.StrategySpec
	var names []string
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		names = append(names, operator.AccountV1(p))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != operator.DefaultAccount {
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
		meta := metav1.ObjectMeta{Namespace: g.Watch, Name: operator.RoleNameV1(g.CSV, p)}
		role, binding := operator.Role(meta, p.Rules, g.subjects(p))
		g.add(role)
		g.add(binding)
	}
}

// clusterRoles adds permissions in the whole cluster. If all namespaces are watched, these are all permissions, and the
// permissions meant for one namespace include listing namespaces.
func (g *generator) clusterRoles() {
	spec := &g.CSV.Spec.InstallStrategy.StrategySpec
	all := slices.Clone(spec.ClusterPermissions)
	if g.Watch == "" {
		for _, p := range spec.Permissions {
			p.Rules = operator.Lifted(p.Rules)
			all = append(all, p)
		}
	}
	for _, p := range all {
		role, binding := operator.ClusterRole(metav1.ObjectMeta{Name: operator.RoleNameV1(g.CSV, p)}, p.Rules, g.subjects(p))
		g.add(role)
		g.add(binding)
	}
}

func (g *generator) subjects(p operator.Permissions) []rbacv1.Subject {
	return operator.Subjects(g.Namespace, operator.AccountV1(p))
}
