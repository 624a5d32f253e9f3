package rbac

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ForCondition returns the Role with which an operator changes its OperatorCondition, and its binding. Like OLM's, the
// binding repeats service accounts that are listed more than once, and does not name their namespace.
func ForCondition(c *operatorsv2.OperatorCondition) (*rbacv1.Role, *rbacv1.RoleBinding) {
	meta := func() metav1.ObjectMeta {
		m := managed(c.Namespace, c.Name)
		m.OwnerReferences = controlled(owner(operatorsv2.GroupVersion.String(), "OperatorCondition", c))
		return m
	}
	r := rule([]string{"get", "update", "patch"}, operatorsv2.GroupVersion.Group, "operatorconditions")
	r.ResourceNames = []string{c.Name}
	role := &rbacv1.Role{TypeMeta: typeMeta(kindRole), ObjectMeta: meta(), Rules: []rbacv1.PolicyRule{r}}
	binding := &rbacv1.RoleBinding{
		TypeMeta: typeMeta(kindRoleBinding), ObjectMeta: meta(), RoleRef: bind(kindRole, role.Name),
	}
	for _, name := range c.Spec.ServiceAccounts {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name})
	}
	return role, binding
}

// ForCertificate returns what OLM grants to the service account of a deployment that serves webhooks or an APIService
// behind a Service: to read the Secret with its certificate, and to ask the API server who its callers are.
func ForCertificate(csv *v1alpha1.ClusterServiceVersion, account, service, secret string) []metav1.Object {
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: csv.Namespace}}
	owned := func() metav1.ObjectMeta {
		m := managed(csv.Namespace, secret)
		m.OwnerReferences = OwnedBy(csv)
		return m
	}
	read := rule([]string{"get"}, corev1.GroupName, "secrets")
	read.ResourceNames = []string{secret}
	return []metav1.Object{
		&rbacv1.Role{TypeMeta: typeMeta(kindRole), ObjectMeta: owned(), Rules: []rbacv1.PolicyRule{read}},
		&rbacv1.RoleBinding{
			TypeMeta: typeMeta(kindRoleBinding), ObjectMeta: owned(), RoleRef: bind(kindRole, secret), Subjects: subjects,
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(kindClusterRoleBinding),
			ObjectMeta: metav1.ObjectMeta{Name: service + "-" + authDelegator, Labels: OwnerLabels(csv)},
			RoleRef:    bind(kindClusterRole, authDelegator), Subjects: subjects,
		},
		&rbacv1.RoleBinding{
			TypeMeta:   typeMeta(kindRoleBinding),
			ObjectMeta: managed(metav1.NamespaceSystem, service+"-auth-reader"),
			RoleRef:    bind(kindRole, "extension-apiserver-authentication-reader"), Subjects: subjects,
		},
	}
}

// authDelegator is a ClusterRole of Kubernetes: to check the tokens and the permissions of callers.
const authDelegator = "system:auth-delegator"

func managed(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{labelManaged: "true"}}
}

// IsExtra reports whether OLM created a binding for its own sake, not because a ClusterServiceVersion asks for it.
func IsExtra(binding metav1.Object) bool {
	labels := binding.GetLabels()
	return labels[labelManaged] == "true" && labels[labelOwner] == ""
}
