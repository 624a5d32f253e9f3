package rbac

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/operator"
)

// A Level is a default role of Kubernetes, such as admin, to which OLM adds access to the APIs of operators.
type Level struct {
	Name  string
	Verbs []string
}

var viewVerbs = []string{"get", "list", "watch"}

// Levels returns all levels, the one with the most verbs first.
func Levels() []Level { return slices.Clone(levels) }

var levels = []Level{
	{"admin", []string{"*"}},
	{"edit", []string{"create", "update", "patch", "delete"}},
	{"view", viewVerbs},
}

// ForAPIs returns the ClusterRoles that give the roles admin, edit and view of a namespace access to the APIs of a
// ClusterServiceVersion. OLM creates them when the operator runs. The UIDs of their owners are not set. The error is
// about the first API for which OLM cannot create them.
func ForAPIs(csv *v1alpha1.ClusterServiceVersion) ([]*rbacv1.ClusterRole, error) {
	var roles []*rbacv1.ClusterRole
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		plural, group, ok := strings.Cut(d.Name, ".")
		if !ok {
			return nil, fmt.Errorf("invalid parsing of name '%v', got %v", d.Name, []string{d.Name})
		}
		crd := &metav1.ObjectMeta{Name: d.Name}
		a := access{
			api:   schema.GroupVersionKind{Group: group, Version: d.Version, Kind: d.Kind},
			name:  d.Name + "-" + d.Version + "-",
			owner: operator.Owner("apiextensions.k8s.io/v1", "customresourcedefinition", crd), // in lower case, as OLM has it,
		}
		for _, l := range levels {
			roles = append(roles, a.role("", l.Name, operator.Rule(l.Verbs, group, plural)))
		}
		see := operator.Rule([]string{"get"}, "apiextensions.k8s.io", "customresourcedefinitions")
		see.ResourceNames = []string{d.Name}
		roles = append(roles, a.role("crd", "view", see))
	}
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		service := &metav1.ObjectMeta{Name: d.Version + "." + d.Group}
		a := access{
			api:   schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind},
			name:  d.Name + "-" + d.Version + "-",
			owner: operator.Owner("apiregistration.k8s.io/v1", "APIService", service),
		}
		for _, l := range levels {
			roles = append(roles, a.role("", l.Name, operator.Rule(l.Verbs, d.Group, d.Name)))
		}
	}
	return roles, nil
}

// An access has the common fields of the ClusterRoles for an API.
type access struct {
	api   schema.GroupVersionKind
	name  string
	owner metav1.OwnerReference
}

func (a *access) role(prefix, level string, rule rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta: operator.RoleType(operator.KindClusterRole),
		ObjectMeta: metav1.ObjectMeta{
			Name: a.name + prefix + level,
			Labels: map[string]string{
				operator.LabelManaged:                             "true",
				"rbac.authorization.k8s.io/aggregate-to-" + level: "true",
				aggregate(a.api, level):                           "true",
			},
			OwnerReferences: []metav1.OwnerReference{a.owner},
		},
		Rules: []rbacv1.PolicyRule{rule},
	}
}

// aggregate returns the label by which the ClusterRoles of an OperatorGroup aggregate the ClusterRoles of an API.
func aggregate(api schema.GroupVersionKind, level string) string {
	h := fnv.New64a()
	h.Write([]byte(api.Kind + "." + api.Version + "." + api.Group))
	return "olm.opgroup.permissions/aggregate-to-" + strconv.FormatUint(h.Sum64(), 16) + "-" + level
}

// ForGroup returns the ClusterRoles of an OperatorGroup, which aggregate the ClusterRoles of its APIs.
func ForGroup(group *operatorsv1.OperatorGroup, apis []schema.GroupVersionKind) []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for _, l := range levels {
		role := &rbacv1.ClusterRole{
			TypeMeta: operator.RoleType(operator.KindClusterRole),
			ObjectMeta: metav1.ObjectMeta{
				Name: groupRoleName(group, l.Name),
				Labels: map[string]string{
					operator.LabelManaged: "true", operator.LabelOwner: group.Name, operator.LabelOwnerNamespace: group.Namespace,
					operator.LabelOwnerKind: operatorsv1.OperatorGroupKind,
				},
			},
		}
		var labels []string
		for _, api := range apis {
			labels = append(labels, aggregate(api, l.Name))
		}
		slices.Sort(labels)
		for _, label := range slices.Compact(labels) {
			if role.AggregationRule == nil {
				role.AggregationRule = &rbacv1.AggregationRule{}
			}
			selectors := &role.AggregationRule.ClusterRoleSelectors
			*selectors = append(*selectors, metav1.LabelSelector{MatchLabels: map[string]string{label: "true"}})
		}
		roles = append(roles, role)
	}
	return roles
}

func groupRoleName(group *operatorsv1.OperatorGroup, level string) string {
	const most = 253
	suffix := "." + level + "-" + operator.HashText([]byte(group.Namespace+"/"+group.Name+"/"+level))
	name := "olm.og." + group.Name
	return name[:min(len(name), most-len(suffix))] + suffix
}
