package simulate

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// permit returns the error of an API server if the service account of the OperatorGroup may not create an object. The
// namespace is empty for objects that are in none.
func (x *execution) permit(o cluster.Kubernetes, namespace string) error {
	ref := x.plan.Status.AttenuatedServiceAccountRef
	if ref == nil {
		return nil
	}
	if !hasOthers(&x.input.ClusterRoleBindings) && !hasOthers(&x.input.RoleBindings) {
		x.assume(fmt.Sprintf("service account %s/%s may create what InstallPlans have", ref.Namespace, ref.Name))
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	resource, user := plural.GroupResource(), "system:serviceaccount:"+ref.Namespace+":"+ref.Name
	allowed := x.permissions().Rules(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, namespace)
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
		return x.grant(o, resource, user, allowed)
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
func (x *execution) grant(
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
			x.assume("rules with too many combinations to compare are assumed to be granted")
		} else if !ok {
			return apierrors.NewForbidden(resource, o.GetName(), fmt.Errorf(
				"user %q is attempting to grant RBAC permissions not currently held: %s", user, jsonText(rule)))
		}
	}
	return nil
}
