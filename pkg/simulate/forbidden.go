package simulate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// An account is the service account of an OperatorGroup, as which OLM creates objects.
type account struct {
	*run
	ref         *corev1.ObjectReference // nil for OLM itself, which may do everything
	permissions func() *rbac.Authorizer // of all service accounts of the cluster, when the controller started
}

// permit returns the error of an API server if the account may not create an object. The namespace is empty for objects
// that are in none.
func (a *account) permit(o cluster.Kubernetes, namespace string) error {
	ref := a.ref
	if ref == nil {
		return nil
	}
	if !hasOthers(&a.input.ClusterRoleBindings) && !hasOthers(&a.input.RoleBindings) {
		a.assume(fmt.Sprintf("service account %s/%s may create what InstallPlans and operators have",
			ref.Namespace, ref.Name))
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	resource, user := plural.GroupResource(), "system:serviceaccount:"+ref.Namespace+":"+ref.Name
	allowed := a.permissions().Rules(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, namespace)
	may := func(verb string) bool {
		ok, _ := rbac.Covers(allowed, rbacv1.PolicyRule{
			Verbs: []string{verb}, APIGroups: []string{resource.Group}, Resources: []string{resource.Resource},
		})
		return ok
	}
	if !may("create") {
		return apierrors.NewForbidden(resource, "", fmt.Errorf(
			"%s %q cannot create resource %q in API group %q %s",
			rbacv1.UserKind, user, resource.Resource, resource.Group, scope(namespace)))
	}
	if !may("escalate") {
		return a.grant(o, resource, user, allowed)
	}
	return nil
}

func scope(namespace string) string {
	if namespace == "" {
		return "at the cluster scope"
	}
	return fmt.Sprintf("in the namespace %q", namespace)
}

// grant returns an error about a role with rules that a user does not have.
func (a *account) grant(
	o cluster.Kubernetes, resource schema.GroupResource, user string, allowed []rbacv1.PolicyRule,
) error {
	var rules []rbacv1.PolicyRule
	switch o := o.(type) {
	case *rbacv1.Role:
		rules = o.Rules
	case *rbacv1.ClusterRole:
		rules = o.Rules
	}
	for _, rule := range rules {
		if ok, err := rbac.Covers(allowed, rule); err != nil {
			a.assume("rules with too many combinations to compare are assumed to be granted")
		} else if !ok {
			return apierrors.NewForbidden(resource, o.GetName(), fmt.Errorf(
				"user %q is attempting to grant RBAC permissions not currently held: %s", user, jsonText(rule)))
		}
	}
	return nil
}
