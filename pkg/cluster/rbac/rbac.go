// Package rbac makes the objects with which OLM Classic grants permissions: to an operator what its
// ClusterServiceVersion asks for, to the users of a cluster the APIs that operators provide. It also says what a
// service account may do, and what a catalog would grant to whom.
//
//	accounts, err := rbac.ForOperator(csv)
//	for _, account := range accounts {
//		fmt.Println(account.Name, len(account.Roles), len(account.ClusterRoles))
//	}
//
// Names and labels are those of OLM. The tests compare them with objects of real clusters.
package rbac

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An Account is a service account of an operator, and what OLM creates for it.
type Account struct {
	Name           string
	ServiceAccount *corev1.ServiceAccount // nil for "default", which every namespace has

	// Roles and ClusterRoles each have a binding of the same name at the same index.
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// All yields the objects of a in the order in which an InstallPlan creates them.
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

// errStrategy is what OLM says of an install strategy that it does not know.
var errStrategy = errors.New("unrecognized install strategy")

// Strategy returns what a ClusterServiceVersion installs. It fails if it is not a deployment.
func Strategy(csv *v1alpha1.ClusterServiceVersion) (*v1alpha1.StrategyDetailsDeployment, error) {
	if csv.Spec.InstallStrategy.StrategyName != v1alpha1.InstallStrategyNameDeployment {
		return nil, errStrategy
	}
	return &csv.Spec.InstallStrategy.StrategySpec, nil
}

// ForOperator returns what the InstallPlan of a ClusterServiceVersion creates for its service accounts, by name. OLM
// takes them in a random order. The rules are shared with csv.
func ForOperator(csv *v1alpha1.ClusterServiceVersion) ([]*Account, error) {
	strategy, err := Strategy(csv)
	if err != nil {
		return nil, err
	}
	accounts := map[string]*Account{}
	for i := range strategy.Permissions {
		p := &strategy.Permissions[i]
		account(accounts, csv, p.ServiceAccountName).addRole(csv, p)
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
		if name != "default" {
			a.ServiceAccount = &corev1.ServiceAccount{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: rbacv1.ServiceAccountKind},
				ObjectMeta: metav1.ObjectMeta{
					Name: name, Namespace: csv.Namespace, OwnerReferences: OwnedBy(csv),
					Labels: map[string]string{labelManaged: "true"},
				},
			}
		}
		accounts[name] = a
	}
	return a
}

func (a *Account) addRole(csv *v1alpha1.ClusterServiceVersion, p *v1alpha1.StrategyDeploymentPermissions) {
	name := roleName(csv, p)
	ref, subjects := bind(kindRole, name), subjects(csv, p)
	a.Roles = append(a.Roles, &rbacv1.Role{
		TypeMeta: typeMeta(kindRole),
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: csv.Namespace, OwnerReferences: OwnedBy(csv), Labels: ownerLabels(csv, contentHash(p.Rules)),
		},
		Rules: p.Rules,
	})
	a.RoleBindings = append(a.RoleBindings, &rbacv1.RoleBinding{
		TypeMeta: typeMeta(kindRoleBinding),
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: csv.Namespace, OwnerReferences: OwnedBy(csv),
			Labels: ownerLabels(csv, bindingHash(ref, subjects)),
		},
		RoleRef: ref, Subjects: subjects,
	})
}

func (a *Account) addClusterRole(csv *v1alpha1.ClusterServiceVersion, p *v1alpha1.StrategyDeploymentPermissions) {
	name := clusterRoleName(csv, p)
	ref, subjects := bind(kindClusterRole, name), subjects(csv, p)
	a.ClusterRoles = append(a.ClusterRoles, &rbacv1.ClusterRole{
		TypeMeta:   typeMeta(kindClusterRole),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ownerLabels(csv, contentHash(p.Rules))},
		Rules:      p.Rules,
	})
	a.ClusterRoleBindings = append(a.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
		TypeMeta:   typeMeta(kindClusterRoleBinding),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ownerLabels(csv, bindingHash(ref, subjects))},
		RoleRef:    ref, Subjects: subjects,
	})
}

func bind(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func subjects(csv *v1alpha1.ClusterServiceVersion, p *v1alpha1.StrategyDeploymentPermissions) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: p.ServiceAccountName, Namespace: csv.Namespace}}
}

// seeNamespaces is what OLM adds to a Role that it lifts.
var seeNamespaces = rule(viewVerbs, corev1.GroupName, "namespaces")

// Lift returns the ClusterRoles and bindings that OLM makes of Roles and their bindings for an operator that watches
// all namespaces. They have the names and labels of the Roles, and may also read namespaces.
func (a *Account) Lift() *Account {
	lifted := &Account{Name: a.Name}
	for _, r := range a.Roles {
		lifted.ClusterRoles = append(lifted.ClusterRoles, &rbacv1.ClusterRole{
			TypeMeta:   typeMeta(kindClusterRole),
			ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: maps.Clone(r.Labels)},
			Rules:      append(slices.Clone(r.Rules), seeNamespaces),
		})
	}
	for _, b := range a.RoleBindings {
		lifted.ClusterRoleBindings = append(lifted.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(kindClusterRoleBinding),
			ObjectMeta: metav1.ObjectMeta{Name: b.Name, Labels: maps.Clone(b.Labels)},
			RoleRef:    bind(kindClusterRole, b.RoleRef.Name), Subjects: b.Subjects,
		})
	}
	return lifted
}

// CopyTo returns the Roles and bindings that OLM makes in another namespace that an operator watches, where copied is
// the copy of its ClusterServiceVersion.
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
	labels[labelOwnerNamespace] = copied.Namespace
	o.SetNamespace(copied.Namespace)
	o.SetOwnerReferences(OwnedBy(copied))
}
