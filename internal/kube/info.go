package kube

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/legible"
)

// The type of an [Info]. No cluster serves it.
const (
	InfoAPIVersion = "opm.operatorframework.io/v1"
	InfoKind       = "ClusterInfo"
)

// An Info is the object of a state with the facts that no other object has.
type Info struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	KubernetesVersion string   `json:"kubernetesVersion,omitempty"` // such as v1.34.1
	Namespaces        []string `json:"namespaces,omitempty"`        // that reading was limited to; empty for all
	Read              []string `json:"read"`                        // the kinds that were read, KIND.GROUP, sorted
	Unread            []Unread `json:"unread,omitempty"`            // in the order of reading
	Inconsistent      []string `json:"inconsistent,omitempty"`      // the kinds that were not read at one resource version
}

// An Unread is a request that the API server refused.
type Unread struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"` // RESOURCE.GROUP
	Namespace string `json:"namespace,omitempty"`
	Message   string `json:"message"` // of the API server
}

// String returns a sentence: cannot list secrets in namespace "work": forbidden.
func (u Unread) String() string {
	in := ""
	if u.Namespace != "" {
		in = fmt.Sprintf(" in namespace %q", u.Namespace)
	}
	return fmt.Sprintf("cannot %s %s%s: %s", u.Verb, u.Resource, in, legible.Text(legible.Message(u.Message)))
}

// Gaps returns a sentence for each fact about the cluster that the state does not have, in the order of reading.
func (i *Info) Gaps() []string {
	var gaps []string
	for _, u := range i.Unread {
		gaps = append(gaps, u.String())
	}
	for _, kind := range i.Inconsistent {
		gaps = append(gaps, kind+" objects were not read at one resource version: the list expired again and again")
	}
	if len(i.Namespaces) > 0 {
		gaps = append(gaps, "only objects of the namespaces "+strings.Join(i.Namespaces, ", ")+" were read")
	}
	return gaps
}

// Has reports whether all objects of a kind were read.
func (i *Info) Has(of schema.GroupKind) bool {
	return len(i.Namespaces) == 0 && slices.Contains(i.Read, of.String())
}

// DeepCopyObject returns a copy, as runtime.Object requires.
func (i *Info) DeepCopyObject() runtime.Object {
	clone := *i
	clone.ObjectMeta = *i.ObjectMeta.DeepCopy()
	clone.Namespaces, clone.Read = slices.Clone(i.Namespaces), slices.Clone(i.Read)
	clone.Unread, clone.Inconsistent = slices.Clone(i.Unread), slices.Clone(i.Inconsistent)
	return &clone
}
