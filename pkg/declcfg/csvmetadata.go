package declcfg

import "github.com/go-json-experiment/json/jsontext"

// A CSVMetadata is the value of a property of type olm.csv.metadata: what a catalog keeps of the ClusterServiceVersion
// of a bundle, so that users can choose an operator without its manifests.
//
// The order of the fields, here and in the types below, is the order in which they are written. The keys are those of
// the ClusterServiceVersion, but for apiServiceDefinitions and crdDescriptions, which that calls apiservicedefinitions
// and customresourcedefinitions.
type CSVMetadata struct {
	Annotations           map[string]string     `json:"annotations,omitempty"` // of the metadata, not of the spec
	APIServiceDefinitions APIServiceDefinitions `json:"apiServiceDefinitions"`
	CRDDescriptions       CRDDescriptions       `json:"crdDescriptions"`
	Description           string                `json:"description,omitempty"` // Markdown
	DisplayName           string                `json:"displayName,omitempty"`
	InstallModes          []InstallMode         `json:"installModes,omitempty"`
	Keywords              []string              `json:"keywords,omitempty"`
	Labels                map[string]string     `json:"labels,omitempty"` // of the metadata, not of the spec
	Links                 []AppLink             `json:"links,omitempty"`
	Maintainers           []Maintainer          `json:"maintainers,omitempty"`
	Maturity              string                `json:"maturity,omitempty"`
	MinKubeVersion        string                `json:"minKubeVersion,omitempty"`
	NativeAPIs            []GroupVersionKind    `json:"nativeAPIs,omitempty"`
	Provider              AppLink               `json:"provider"`
}

// APIServiceDefinitions are the APIs that an operator serves through the aggregation layer, and those it needs.
type APIServiceDefinitions struct {
	Owned    []APIServiceDescription `json:"owned,omitempty"`
	Required []APIServiceDescription `json:"required,omitempty"`
}

// CRDDescriptions are the custom resource definitions that an operator brings, and those it needs.
type CRDDescriptions struct {
	Owned    []CRDDescription `json:"owned,omitempty"`
	Required []CRDDescription `json:"required,omitempty"`
}

// An APIServiceDescription describes one kind of an aggregated API.
type APIServiceDescription struct {
	Name              string              `json:"name"`
	Group             string              `json:"group"`
	Version           string              `json:"version"`
	Kind              string              `json:"kind"`
	DeploymentName    string              `json:"deploymentName,omitempty"`
	ContainerPort     int32               `json:"containerPort,omitzero"`
	DisplayName       string              `json:"displayName,omitempty"`
	Description       string              `json:"description,omitempty"`
	Resources         []ResourceReference `json:"resources,omitempty"`
	StatusDescriptors []Descriptor        `json:"statusDescriptors,omitempty"`
	SpecDescriptors   []Descriptor        `json:"specDescriptors,omitempty"`
	ActionDescriptors []Descriptor        `json:"actionDescriptors,omitempty"`
}

// A CRDDescription describes one version of a custom resource definition.
type CRDDescription struct {
	Name              string              `json:"name"` // of the definition: PLURAL.GROUP
	Version           string              `json:"version"`
	Kind              string              `json:"kind"`
	DisplayName       string              `json:"displayName,omitempty"`
	Description       string              `json:"description,omitempty"`
	Resources         []ResourceReference `json:"resources,omitempty"`
	StatusDescriptors []Descriptor        `json:"statusDescriptors,omitempty"`
	SpecDescriptors   []Descriptor        `json:"specDescriptors,omitempty"`
	ActionDescriptors []Descriptor        `json:"actionDescriptors,omitempty"`
}

// A ResourceReference names a kind of object that a custom resource makes or uses.
type ResourceReference struct {
	Name    string `json:"name"` // empty where the kind is not a custom resource
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// A Descriptor describes to a user interface how to show a field of a custom resource, or an action on it.
type Descriptor struct {
	Path         string         `json:"path"`
	DisplayName  string         `json:"displayName,omitempty"`
	Description  string         `json:"description,omitempty"`
	XDescriptors []string       `json:"x-descriptors,omitempty"`
	Value        jsontext.Value `json:"value,omitzero"` // any JSON; nil where there is none, which is not null
}

// An InstallMode says whether an operator can watch namespaces in one of the ways there are, such as AllNamespaces.
type InstallMode struct {
	Type      string `json:"type"`
	Supported bool   `json:"supported"`
}

// An AppLink is a web page of an operator or of those who provide it.
type AppLink struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

// A Maintainer is someone to write to about an operator.
type Maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// A GroupVersionKind names an API of Kubernetes itself that an operator needs.
type GroupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}
