package kube

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// ReaderRules returns the permissions that suffice for a question, a rule for each API group; nil if it is unknown.
// Custom resources of operators are not among them: which ones there are depends on the cluster.
func ReaderRules(q Question) []rbacv1.PolicyRule {
	verbs := []string{"list"}
	if q.Watch {
		verbs = append(verbs, "watch")
	}
	var rules []rbacv1.PolicyRule
	for _, k := range q.kinds() {
		i := slices.IndexFunc(rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == k.group })
		if i < 0 {
			i = len(rules)
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{k.group}, Verbs: verbs})
		}
		if !slices.Contains(rules[i].Resources, k.resource) {
			rules[i].Resources = append(rules[i].Resources, k.resource)
		}
	}
	if q.Forward && rules != nil {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"},
		})
	}
	return rules
}
