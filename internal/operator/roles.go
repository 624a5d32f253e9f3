package operator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kinds of roles and bindings.
const (
	KindRole               = "Role"
	KindRoleBinding        = "RoleBinding"
	KindClusterRole        = "ClusterRole"
	KindClusterRoleBinding = "ClusterRoleBinding"
)

// Role returns a Role and its binding, both with this metadata.
func Role(meta metav1.ObjectMeta, rules []rbacv1.PolicyRule, to []rbacv1.Subject) (*rbacv1.Role, *rbacv1.RoleBinding) {
	return &rbacv1.Role{TypeMeta: RoleType(KindRole), ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		TypeMeta: RoleType(KindRoleBinding), ObjectMeta: *meta.DeepCopy(),
		RoleRef: RoleRef(KindRole, meta.Name), Subjects: to,
	}
}

// ClusterRole returns a ClusterRole and its binding, both with this metadata.
func ClusterRole(
	meta metav1.ObjectMeta, rules []rbacv1.PolicyRule, to []rbacv1.Subject,
) (*rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding) {
	return &rbacv1.ClusterRole{TypeMeta: RoleType(KindClusterRole), ObjectMeta: meta, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: RoleType(KindClusterRoleBinding), ObjectMeta: *meta.DeepCopy(),
			RoleRef: RoleRef(KindClusterRole, meta.Name), Subjects: to,
		}
}

// RoleType returns the type of roles and bindings.
func RoleType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// RoleRef returns the reference of a binding to a role.
func RoleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// Subjects returns the subjects of a binding to a service account.
func Subjects(namespace, account string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}}
}

// Rule returns a rule about one resource.
func Rule(verbs []string, group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: []string{resource}}
}

// Lifted returns the rules of the ClusterRole that OLM creates from a Role of an operator that watches all namespaces.
// In addition to the rules of the Role, they allow to read namespaces.
func Lifted(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return append(slices.Clip(rules), Rule([]string{"get", "list", "watch"}, corev1.GroupName, "namespaces"))
}
