package admission

import (
	"cmp"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkRole(r *rbacv1.Role) field.ErrorList { return checkRules(r.Rules, true) }

func checkClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	errs := checkRules(r.Rules, false)
	if a := r.AggregationRule; a != nil {
		at := field.NewPath("aggregationRule", "clusterRoleSelectors")
		if len(a.ClusterRoleSelectors) == 0 {
			errs = append(errs, field.Required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
		}
		for i := range a.ClusterRoleSelectors {
			errs = append(errs, unversioned.ValidateLabelSelector(
				&a.ClusterRoleSelectors[i], unversioned.LabelSelectorValidationOptions{}, at.Index(i))...)
		}
	}
	return errs
}

func checkRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i := range rules {
		r, at := &rules[i], field.NewPath("rules").Index(i)
		if len(r.Verbs) == 0 {
			errs = append(errs, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(r.NonResourceURLs) > 0 {
			urls := at.Child("nonResourceURLs")
			if namespaced {
				errs = append(errs, field.Invalid(
					urls, r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(
					urls, r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(r.APIGroups) == 0 {
			errs = append(errs, field.Required(at.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(r.Resources) == 0 {
			errs = append(errs, field.Required(at.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

func checkRoleBinding(b *rbacv1.RoleBinding) field.ErrorList {
	return checkBinding(b.RoleRef, b.Subjects, true, "Role", "ClusterRole")
}

func checkClusterRoleBinding(b *rbacv1.ClusterRoleBinding) field.ErrorList {
	return checkBinding(b.RoleRef, b.Subjects, false, "ClusterRole")
}

func checkBinding(
	ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool, kinds ...string,
) field.ErrorList {
	at := field.NewPath("roleRef")
	errs := unsupported(at.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)
	errs = append(errs, notIn(at.Child("kind"), ref.Kind, kinds...)...)
	errs = append(errs, required(at.Child("name"), ref.Name)...)
	if ref.Name != "" {
		errs = append(errs, invalid(at.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))...)
	}
	for i := range subjects {
		errs = append(errs, checkSubject(&subjects[i], namespaced, field.NewPath("subjects").Index(i))...)
	}
	return errs
}

// notIn is unsupported for a field without a default.
func notIn(at *field.Path, value string, valid ...string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.NotSupported(at, value, valid)}
	}
	return unsupported(at, value, valid...)
}

func checkSubject(s *rbacv1.Subject, namespaced bool, at *field.Path) field.ErrorList {
	errs := required(at.Child("name"), s.Name)
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, invalid(at.Child("name"), s.Name, validation.ValidateServiceAccountName(s.Name, false))...)
		}
		if s.APIGroup != "" {
			errs = append(errs, field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{""}))
		}
		if !namespaced {
			errs = append(errs, required(at.Child("namespace"), s.Namespace)...)
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, unsupported(at.Child("apiGroup"), s.APIGroup, rbacv1.GroupName)...)
	default:
		errs = append(errs, field.NotSupported(at.Child("kind"), s.Kind,
			[]string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	return errs
}

func changedRoleBinding(b, old *rbacv1.RoleBinding) field.ErrorList {
	return changedRole(b.RoleRef, old.RoleRef)
}

func changedClusterRoleBinding(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return changedRole(b.RoleRef, old.RoleRef)
}

func changedRole(ref, old rbacv1.RoleRef) field.ErrorList {
	ref.APIGroup, old.APIGroup = cmp.Or(ref.APIGroup, rbacv1.GroupName), cmp.Or(old.APIGroup, rbacv1.GroupName)
	if ref == old {
		return nil
	}
	// The API server prints its internal type, which has no JSON names.
	printed := struct{ APIGroup, Kind, Name string }{ref.APIGroup, ref.Kind, ref.Name}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), printed, "cannot change roleRef")}
}
