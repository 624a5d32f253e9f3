package rbac

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/operator"
)

// ForCondition returns the Role with which an operator changes its OperatorCondition, and its binding. Like OLM's, the
// binding repeats service accounts that are listed more than once, and does not name their namespace.
func ForCondition(c *operatorsv2.OperatorCondition) (*rbacv1.Role, *rbacv1.RoleBinding) {
	meta := managed(c.Namespace, c.Name)
	meta.OwnerReferences = operator.Controlled(operator.Owner(operatorsv2.GroupVersion.String(), "OperatorCondition", c))
	r := operator.Rule([]string{"get", "update", "patch"}, operatorsv2.GroupVersion.Group, "operatorconditions")
	r.ResourceNames = []string{c.Name}
	var subjects []rbacv1.Subject
	for _, name := range c.Spec.ServiceAccounts {
		subjects = append(subjects, operator.Subjects("", name)...)
	}
	return operator.Role(meta, []rbacv1.PolicyRule{r}, subjects)
}

// ForCertificate returns the roles and bindings for the service account of a deployment that serves webhooks or an
// APIService behind a Service: to read the Secret with its certificate, and to authenticate callers at the API server.
func ForCertificate(csv *v1alpha1.ClusterServiceVersion, account, service, secret string) []metav1.Object {
	subjects, meta := operator.Subjects(csv.Namespace, account), managed(csv.Namespace, secret)
	meta.OwnerReferences = operator.OwnedBy(csv)
	read := operator.Rule([]string{"get"}, corev1.GroupName, "secrets")
	read.ResourceNames = []string{secret}
	role, binding := operator.Role(meta, []rbacv1.PolicyRule{read}, subjects)
	return []metav1.Object{
		role, binding,
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   operator.RoleType(operator.KindClusterRoleBinding),
			ObjectMeta: metav1.ObjectMeta{Name: service + "-" + authDelegator, Labels: operator.OwnerLabels(csv)},
			RoleRef:    operator.RoleRef(operator.KindClusterRole, authDelegator), Subjects: subjects,
		},
		&rbacv1.RoleBinding{
			TypeMeta:   operator.RoleType(operator.KindRoleBinding),
			ObjectMeta: managed(metav1.NamespaceSystem, service+"-auth-reader"),
			RoleRef:    operator.RoleRef(operator.KindRole, "extension-apiserver-authentication-reader"), Subjects: subjects,
		},
	}
}

// authDelegator is the ClusterRole of Kubernetes to check the tokens and the permissions of callers.
const authDelegator = "system:auth-delegator"

func managed(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{operator.LabelManaged: "true"}}
}

// IsExtra reports whether OLM created a binding that is not among the permissions of a ClusterServiceVersion.
func IsExtra(binding metav1.Object) bool {
	labels := binding.GetLabels()
	return labels[operator.LabelManaged] == "true" && labels[operator.LabelOwner] == ""
}
