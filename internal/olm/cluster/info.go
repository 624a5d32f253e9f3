package cluster

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KubernetesVersion returns the version of the API server, such as "v1.34.1"; "" if the State does not have it.
func (s *State) KubernetesVersion() string {
	for o := range s.Infos.All() {
		return o.Value.KubernetesVersion
	}
	return ""
}

// Gaps returns a sentence for each fact about the cluster that could not be read, nil if there are none. A State that
// was not read from a live cluster does not record gaps.
func (s *State) Gaps() []string {
	var gaps []string
	for o := range s.Infos.All() {
		gaps = append(gaps, o.Value.Gaps()...)
	}
	return gaps
}

// Has reports whether the State was read from a live cluster and has all objects of a kind.
func (s *State) Has(of schema.GroupKind) bool {
	for o := range s.Infos.All() {
		if o.Value.Has(of) {
			return true
		}
	}
	return false
}

// IsMetadataOnly reports whether only the metadata of a copied ClusterServiceVersion are known. OLM gives every copy a
// status.
func IsMetadataOnly(c *v1alpha1.ClusterServiceVersion) bool {
	return c.IsCopied() && c.Status.Reason == "" && c.Status.Phase == ""
}
