package bundle

import (
	"strings"

	"github.com/blang/semver/v4"
)

// removedAPIs holds, by API version and kind, the versions of Kubernetes in which APIs went away that OLM installs
// objects of. https://kubernetes.io/docs/reference/using-api/deprecation-guide/
var removedAPIs = map[[2]string]semver.Version{
	{crdV1beta1, kindCRD}:                                       {Major: 1, Minor: 22},
	{"scheduling.k8s.io/v1beta1", "PriorityClass"}:              {Major: 1, Minor: 22},
	{"rbac.authorization.k8s.io/v1beta1", "Role"}:               {Major: 1, Minor: 22},
	{"rbac.authorization.k8s.io/v1beta1", "RoleBinding"}:        {Major: 1, Minor: 22},
	{"rbac.authorization.k8s.io/v1beta1", "ClusterRole"}:        {Major: 1, Minor: 22},
	{"rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"}: {Major: 1, Minor: 22},
	{"policy/v1beta1", "PodDisruptionBudget"}:                   {Major: 1, Minor: 25},
}

// checkRemoved looks for an API that newer clusters do not have.
func (c *checker) checkRemoved(m *manifest) {
	removed, ok := removedAPIs[[2]string{m.apiVersion, m.kind}]
	if ok {
		c.find("removed-api", m.document, "/apiVersion", "Kubernetes %[2]d.%[3]d removed %[1]s",
			m.apiVersion, removed.Major, removed.Minor)
	}
}

// checkHubAPIs refuses manifests that no cluster has an API for on which the operator may be installed.
func (c *checker) checkHubAPIs() {
	least, err := semver.ParseTolerant(c.csv.Spec.MinKubeVersion)
	if err != nil || strings.TrimSpace(c.csv.Spec.MinKubeVersion) == "" {
		return
	}
	for _, m := range c.manifests {
		if removed, ok := removedAPIs[[2]string{m.apiVersion, m.kind}]; ok && least.GE(removed) {
			c.findCSV("hub", "/spec/minKubeVersion", "Kubernetes %[2]d.%[3]d removed %[1]s, the API of %[4]s",
				m.apiVersion, removed.Major, removed.Minor, m.file)
		}
	}
}
