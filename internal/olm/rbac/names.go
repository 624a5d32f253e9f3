package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/internal/operator"
)

const labelContent = "olm.permissions.hash"

// LabelContent labels a role or binding with the hash of its content, unless it has the label.
func LabelContent(o metav1.Object) {
	old := o.GetLabels()
	if _, ok := old[labelContent]; ok {
		return
	}
	var hash string
	switch o := o.(type) {
	case *rbacv1.Role:
		hash = operator.HashContent(o.Rules)
	case *rbacv1.ClusterRole:
		hash = operator.HashContent(o.Rules)
	case *rbacv1.RoleBinding:
		hash = bindingHash(o.RoleRef, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		hash = bindingHash(o.RoleRef, o.Subjects)
	}
	o.SetLabels(labels.Merge(old, labels.Set{labelContent: hash}))
}

func bindingHash(ref rbacv1.RoleRef, subjects []rbacv1.Subject) string {
	return operator.HashContent(struct {
		RoleRef  rbacv1.RoleRef
		Subjects []rbacv1.Subject
	}{ref, subjects})
}
