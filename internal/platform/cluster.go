package platform

import (
	"cmp"
	"fmt"
	"strings"

	kube "k8s.io/apimachinery/pkg/util/version"
)

// A Cluster is the platform of a cluster, which may have a patch version.
type Cluster struct {
	Platform
	Version string        // of OpenShift or Kubernetes as given, without v
	Patched *kube.Version // nil for a minor version
}

// ParseCluster parses a target such as ocp=4.14 or kubernetes=1.33.2. Unlike [ParseTarget], which is for catalogs,
// it accepts a release of OpenShift that opm does not know: a cluster may have it.
func ParseCluster(text string) (c Cluster, err error) {
	name, version, _ := strings.Cut(text, "=")
	c.Version = strings.TrimPrefix(version, "v")
	minor := c.Version
	if v, err := kube.ParseSemantic(c.Version); err == nil {
		c.Patched, minor = v, fmt.Sprintf("%d.%d", v.Major(), v.Minor())
	}
	if c.Platform, err = Parse(name + "=" + minor); err != nil {
		_, whole := Parse(text)
		return c, cmp.Or(whole, err)
	}
	return c, nil
}

// IsKubernetes reports whether it is a whole version of Kubernetes.
func (c *Cluster) IsKubernetes() bool {
	return c.Patched != nil && c.OpenShift == Version{}
}
