// Package rbac creates the objects with which OLM Classic grants permissions: to an operator the permissions of its
// ClusterServiceVersion, and to the users of a cluster the use of the APIs of operators. It also computes the
// permissions of a service account.
//
//	accounts, err := rbac.ForOperator(csv)
//	for _, account := range accounts {
//		fmt.Println(account.Name, len(account.Roles), len(account.ClusterRoles))
//	}
//
// Names and labels are the same as OLM's. The tests compare them with objects of real clusters.
package rbac

import (
	"iter"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/operator"
)

// An Account is a service account of an operator, and the roles and bindings that OLM creates for it.
type Account struct {
	Name           string
	ServiceAccount *corev1.ServiceAccount // nil for "default", which every namespace has

	// Roles and ClusterRoles each have a binding of the same name at the same index.
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// All yields the objects of the account in the order in which an InstallPlan creates them.
func (a *Account) All() iter.Seq[metav1.Object] {
	return func(yield func(metav1.Object) bool) {
		if a.ServiceAccount != nil && !yield(a.ServiceAccount) {
			return
		}
		_ = each(a.Roles, yield) && each(a.RoleBindings, yield) &&
			each(a.ClusterRoles, yield) && each(a.ClusterRoleBindings, yield)
	}
}

func each[T metav1.Object](objects []T, yield func(metav1.Object) bool) bool {
	for _, o := range objects {
		if !yield(o) {
			return false
		}
	}
	return true
}

// ForOperator returns the service accounts that the InstallPlan of a ClusterServiceVersion creates, with their roles
// and bindings, by name. OLM creates them in a random order. The rules are shared with csv.
func ForOperator(csv *v1alpha1.ClusterServiceVersion) ([]*Account, error) {
	strategy, err := operator.Strategy(csv)
	if err != nil {
		return nil, err
	}
	accounts := map[string]*Account{}
	for i := range strategy.Permissions {
		p := &strategy.Permissions[i]
		a := account(accounts, csv, p.ServiceAccountName)
		role, binding := operator.Role(metav1.ObjectMeta{
			Name: operator.RoleName(csv, p), Namespace: csv.Namespace, OwnerReferences: operator.OwnedBy(csv),
			Labels: operator.OwnerLabels(csv),
		}, p.Rules, operator.Subjects(csv.Namespace, p.ServiceAccountName))
		LabelContent(role)
		LabelContent(binding)
		a.Roles, a.RoleBindings = append(a.Roles, role), append(a.RoleBindings, binding)
	}
	for i := range strategy.ClusterPermissions {
		p := &strategy.ClusterPermissions[i]
		account(accounts, csv, p.ServiceAccountName).addClusterRole(csv, p)
	}
	var sorted []*Account
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		sorted = append(sorted, accounts[name])
	}
	return sorted, nil
}

func account(accounts map[string]*Account, csv *v1alpha1.ClusterServiceVersion, name string) *Account {
	a := accounts[name]
	if a == nil {
		a = &Account{Name: name}
		if name != operator.DefaultAccount {
			a.ServiceAccount = &corev1.ServiceAccount{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: rbacv1.ServiceAccountKind},
				ObjectMeta: metav1.ObjectMeta{
					Name: name, Namespace: csv.Namespace, OwnerReferences: operator.OwnedBy(csv),
					Labels: map[string]string{operator.LabelManaged: "true"},
				},
			}
		}
		accounts[name] = a
	}
	return a
}

func (a *Account) addClusterRole(csv *v1alpha1.ClusterServiceVersion, p *operator.Permissions) {
	role, binding := operator.ClusterRole(
		metav1.ObjectMeta{Name: operator.ClusterRoleName(csv, p), Labels: operator.OwnerLabels(csv)},
		p.Rules, operator.Subjects(csv.Namespace, p.ServiceAccountName))
	LabelContent(role)
	LabelContent(binding)
	a.ClusterRoles, a.ClusterRoleBindings = append(a.ClusterRoles, role), append(a.ClusterRoleBindings, binding)
}

// Lift returns the ClusterRoles and bindings that OLM creates from the Roles of an operator that watches all
// namespaces. They have the names and labels of the Roles, and also allow to read namespaces.
func (a *Account) Lift() *Account {
	lifted := &Account{Name: a.Name}
	for _, r := range a.Roles {
		lifted.ClusterRoles = append(lifted.ClusterRoles, &rbacv1.ClusterRole{
			TypeMeta:   operator.RoleType(operator.KindClusterRole),
			ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: maps.Clone(r.Labels)},
			Rules:      operator.Lifted(r.Rules),
		})
	}
	for _, b := range a.RoleBindings {
		lifted.ClusterRoleBindings = append(lifted.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
			TypeMeta:   operator.RoleType(operator.KindClusterRoleBinding),
			ObjectMeta: metav1.ObjectMeta{Name: b.Name, Labels: maps.Clone(b.Labels)},
			RoleRef:    operator.RoleRef(operator.KindClusterRole, b.RoleRef.Name), Subjects: b.Subjects,
		})
	}
	return lifted
}

// CopyTo returns the Roles and bindings that OLM creates in another namespace that the operator watches. copied is the
// copy of its ClusterServiceVersion in that namespace.
func (a *Account) CopyTo(copied *v1alpha1.ClusterServiceVersion) *Account {
	to := &Account{Name: a.Name}
	for _, r := range a.Roles {
		r = r.DeepCopy()
		moveTo(r, copied)
		to.Roles = append(to.Roles, r)
	}
	for _, b := range a.RoleBindings {
		b = b.DeepCopy()
		moveTo(b, copied)
		to.RoleBindings = append(to.RoleBindings, b)
	}
	return to
}

func moveTo(o metav1.Object, copied *v1alpha1.ClusterServiceVersion) {
	labels := o.GetLabels()
	labels[v1alpha1.CopiedLabelKey] = o.GetNamespace()
	labels[operator.LabelOwnerNamespace] = copied.Namespace
	o.SetNamespace(copied.Namespace)
	o.SetOwnerReferences(operator.OwnedBy(copied))
}
