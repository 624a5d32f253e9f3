package declcfg

import "github.com/go-json-experiment/json/jsontext"

// A CSVMetadata is the value of a property of type olm.csv.metadata: the fields of the ClusterServiceVersion of a
// bundle that users need to choose an operator without its manifests.
//
// The order of the fields, here and in the types below, is the order in which they are written. The keys are the same
// as in the ClusterServiceVersion, except that it names apiServiceDefinitions and crdDescriptions apiservicedefinitions
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

// APIServiceDefinitions are the APIs that an operator serves through the aggregation layer, and the aggregated APIs
// that it needs.
type APIServiceDefinitions struct {
	Owned    []APIServiceDescription `json:"owned,omitempty"`
	Required []APIServiceDescription `json:"required,omitempty"`
}

// CRDDescriptions are the custom resource definitions that an operator provides and requires.
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

// A ResourceReference names a kind of object that a custom resource creates or uses.
type ResourceReference struct {
	Name    string `json:"name"` // empty if the kind is not a custom resource
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// A Descriptor describes the presentation of a field of a custom resource, or of an action on it, in a user interface.
type Descriptor struct {
	Path         string         `json:"path"`
	DisplayName  string         `json:"displayName,omitempty"`
	Description  string         `json:"description,omitempty"`
	XDescriptors []string       `json:"x-descriptors,omitempty"`
	Value        jsontext.Value `json:"value,omitzero"` // any JSON; nil if the key is missing, which is not null
}

// An InstallMode says whether an operator supports one way to watch namespaces, such as AllNamespaces.
type InstallMode struct {
	Type      string `json:"type"`
	Supported bool   `json:"supported"`
}

// An AppLink is a web page of an operator or of its provider.
type AppLink struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

// A Maintainer is a contact for an operator.
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
