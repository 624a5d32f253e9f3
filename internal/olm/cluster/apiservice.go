package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An APIService registers the server of a group and version of APIs. It is declared here since the Go module that
// declares it has too many dependencies.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   APIServiceSpec   `json:"spec"`
	Status APIServiceStatus `json:"status,omitzero"`
}

// An APIServiceSpec is a group and version and the Service that serves it. Without a Service, the API server itself
// does.
type APIServiceSpec struct {
	Service               *ServiceReference `json:"service,omitempty"`
	Group                 string            `json:"group,omitempty"`
	Version               string            `json:"version,omitempty"`
	InsecureSkipTLSVerify bool              `json:"insecureSkipTLSVerify,omitempty"`
	CABundle              []byte            `json:"caBundle,omitempty"`
	GroupPriorityMinimum  int32             `json:"groupPriorityMinimum"`
	VersionPriority       int32             `json:"versionPriority"`
}

// A ServiceReference names the Service of an APIService.
type ServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      *int32 `json:"port,omitempty"`
}

// An APIServiceStatus has the condition Available.
type APIServiceStatus struct {
	Conditions []APIServiceCondition `json:"conditions,omitempty"`
}

// An APIServiceCondition is a condition of an APIService.
type APIServiceCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitzero"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

// DeepCopyObject returns a copy that shares the spec's Service and certificates, as runtime.Object requires.
func (a *APIService) DeepCopyObject() runtime.Object {
	clone := *a
	clone.ObjectMeta, clone.Status.Conditions = *a.ObjectMeta.DeepCopy(), slices.Clone(a.Status.Conditions)
	return &clone
}
