package bundle

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// checkObject checks that a manifest does not endanger the cluster.
func (c *checker) checkObject(m *manifest) {
	switch m.kind {
	case "PodDisruptionBudget":
		c.checkDisruptionBudget(m)
	case "PriorityClass":
		var class schedulingv1.PriorityClass
		if c.decodeObject(m, &class) && class.GlobalDefault {
			c.find("object", m.document, "/globalDefault", "the class would be the default for all pods of the cluster")
		}
	case "Role", "ClusterRole":
		var role rbacv1.ClusterRole
		if c.decodeObject(m, &role) {
			for i := range role.Rules {
				c.checkPermission(m, element("/rules", i), &role.Rules[i])
			}
		}
	}
}

func (c *checker) decodeObject(m *manifest, v any) bool {
	ptr, err := decode(m.printed, v)
	if err != nil {
		c.find("object", m.document, ptr, "%w", err)
	}
	return err == nil
}

// checkDisruptionBudget refuses budgets under which no node of the cluster could be drained.
func (c *checker) checkDisruptionBudget(m *manifest) {
	var budget policyv1beta1.PodDisruptionBudget
	if !c.decodeObject(m, &budget) {
		return
	}
	if most := budget.Spec.MaxUnavailable; most != nil && (most.IntVal == 0 && most.StrVal == "" || most.StrVal == "0%") {
		c.find("object", m.document, "/spec/maxUnavailable", "no pod can ever be evicted")
	}
	if least := budget.Spec.MinAvailable; least != nil && least.StrVal == "100%" {
		c.find("object", m.document, "/spec/minAvailable", "no pod can ever be evicted")
	}
}

// defaultConstraints are the security context constraints that an OpenShift cluster itself needs.
var defaultConstraints = setOf(
	"privileged", "restricted", "anyuid", "hostaccess", "hostmount-anyuid", "hostnetwork", "node-exporter", "nonroot",
)

func (c *checker) checkPermission(m *manifest, ptr jsontext.Pointer, rule *rbacv1.PolicyRule) {
	grants := func(group, resource string, verbs ...string) bool {
		return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
			slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == rbacv1.VerbAll || slices.Contains(verbs, v) })
	}
	if grants("policy", "poddisruptionbudgets", "create", "update", "patch") {
		c.find("object-permission", m.document, ptr, "can change disruption budgets, which can block node updates")
	}
	if grants("security.openshift.io", "securitycontextconstraints", "delete", "update", "patch") {
		var names []string
		for _, name := range rule.ResourceNames {
			if defaultConstraints[name] {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			c.find("object", m.document, ptr, "can change constraints of the cluster itself: %s", strings.Join(names, ", "))
		}
	}
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
