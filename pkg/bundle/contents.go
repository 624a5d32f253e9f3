package bundle

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Contents are the manifests of a bundle of type registry+v1.
type Contents struct {
	// CSV has the properties in metadata/ appended to its annotation olm.properties, as in OLM v1.
	CSV *v1alpha1.ClusterServiceVersion

	// CRDs are of version v1, the only one in clusters with OLM v1, and have no status. They and Others are in the
	// order of their files.
	CRDs   []*apiextensionsv1.CustomResourceDefinition
	Others []*unstructured.Unstructured

	// Dependencies are in the order of the ClusterServiceVersion, properties and dependencies.
	Dependencies []Dependency

	// Partial is true for a bundle of a catalog that has olm.csv.metadata, or nothing, instead of manifests. Its
	// ClusterServiceVersion then has install modes and owned APIServices only, and there are no other manifests.
	Partial bool

	files      map[any]*manifest         // by object
	properties map[any]propertyOfCatalog // by object, for a bundle of a catalog
	unreadable []Refusal                 // of manifests of a bundle of a catalog

	unreadableCSV bool // the ClusterServiceVersion is among them
}

// A Dependency is a requirement of a bundle, such as an API, that another operator must provide.
type Dependency struct {
	Property string // the type of the property that it becomes, such as olm.gvk.required

	doc *document // nil for a bundle of a catalog
	ptr jsontext.Pointer
}

// ReadContents reads the manifests of the bundle in fsys. The error joins the errors of [Parse], and an error for each
// value that does not fit the types of Kubernetes and OLM, with its place; positions begin with name.
func ReadContents(fsys fs.FS, name string, opts Options) (*Contents, error) {
	p := parser{fsys: fsys, name: strings.TrimSuffix(name, "/"), opts: opts}
	all, meta := p.readManifests(), p.readMetadata()
	if err := p.err(); err != nil {
		return nil, err
	}
	c := &Contents{
		CSV: new(v1alpha1.ClusterServiceVersion), files: map[any]*manifest{},
	}
	p.decodeInto(c, all.csv, c.CSV)
	for _, m := range all.crds {
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if m.apiVersion != crdV1 {
			p.fail(m.errorIn("/apiVersion", definitionVersionError(m.apiVersion)))
		} else if p.decodeInto(c, m, crd) {
			c.CRDs = append(c.CRDs, crd)
		}
	}
	for _, m := range all.others {
		other := new(unstructured.Unstructured)
		if err := other.UnmarshalJSON(m.printed); err != nil {
			p.fail(m.errorIn("", err))
			continue
		}
		c.Others, c.files[other] = append(c.Others, other), m
	}
	if annotated, ok := p.annotatedProperties(c); ok {
		p.collectDependencies(c, meta, annotated)
		p.annotateProperties(c, meta, annotated)
	}
	return c, p.err()
}

// collectDependencies adds the dependencies from all their sources: the ClusterServiceVersion, properties and
// dependencies.
func (p *parser) collectDependencies(c *Contents, meta *metadata, annotated []annotatedProperty) {
	csv := c.files[c.CSV].document
	add := func(typ string, doc *document, ptr jsontext.Pointer) {
		if isDependency(typ) {
			c.Dependencies = append(c.Dependencies, Dependency{typ, doc, ptr})
		}
	}
	for i := range c.CSV.Spec.CustomResourceDefinitions.Required {
		add(declcfg.PropertyGVKRequired, csv, element("/spec/customresourcedefinitions/required", i))
	}
	for i := range c.CSV.Spec.APIServiceDefinitions.Required {
		add(declcfg.PropertyGVKRequired, csv, element("/spec/apiservicedefinitions/required", i))
	}
	for _, property := range annotated {
		add(property.Type, csv, pointer("metadata", "annotations", annotationProperties))
	}
	for i, d := range meta.properties {
		add(string(d.Type), meta.from.properties, element("/properties", i))
	}
	for i, d := range meta.dependencies {
		add(requirementType(string(d.Type)), meta.from.dependencies, element("/dependencies", i))
	}
}

// isDependency reports whether OLM v1 refuses a bundle with a property of the type.
func isDependency(property string) bool {
	switch property {
	case declcfg.PropertyGVKRequired, declcfg.PropertyPackageRequired, declcfg.PropertyConstraint:
		return true
	}
	return false
}

// requirementType returns the property type of a dependency: olm.gvk.required for olm.gvk.
func requirementType(dependency string) string {
	switch dependency {
	case declcfg.PropertyGVK:
		return declcfg.PropertyGVKRequired
	case declcfg.PropertyPackage:
		return declcfg.PropertyPackageRequired
	}
	return dependency
}

// decodeInto decodes a manifest into v, and reports whether it succeeded.
func (p *parser) decodeInto(c *Contents, m *manifest, v any) bool {
	c.files[v] = m
	ptr, err := decode(m.printed, v)
	if err != nil {
		p.fail(m.errorIn(ptr, err))
	}
	return err == nil
}

// annotatedProperties returns the properties in the annotation of the ClusterServiceVersion, and whether they can be
// read.
func (p *parser) annotatedProperties(c *Contents) (properties []annotatedProperty, ok bool) {
	text, ok := c.CSV.Annotations[annotationProperties]
	if !ok {
		return nil, true
	}
	if err := json.Unmarshal([]byte(text), &properties); err != nil {
		ptr := pointer("metadata", "annotations", annotationProperties)
		p.fail(c.files[c.CSV].errorIn(ptr, fmt.Errorf("want a list of properties as JSON: %w", err)))
		return nil, false
	}
	return properties, true
}

// annotateProperties adds the properties in metadata/ to the annotation of the ClusterServiceVersion. As in OLM v1, the
// annotation is null if metadata/properties.yaml exists, but there are no properties.
func (p *parser) annotateProperties(c *Contents, meta *metadata, properties []annotatedProperty) {
	_, err := fs.Stat(p.fsys, path.Join(metadataDir, "properties.yaml"))
	if len(meta.properties) == 0 && err != nil {
		return
	}
	for _, d := range meta.properties {
		properties = append(properties, annotatedProperty{string(d.Type), json.RawMessage(d.Value)})
	}
	text, err := json.Marshal(properties)
	if err != nil {
		p.fail(meta.from.properties.errorIn("/properties", err))
		return
	}
	if c.CSV.Annotations == nil {
		c.CSV.Annotations = map[string]string{}
	}
	c.CSV.Annotations[annotationProperties] = string(text)
}

// ErrorIn returns an error about the value at ptr of an object of the contents, with its place.
func (c *Contents) ErrorIn(object any, ptr jsontext.Pointer, err error) *declcfg.Error {
	return c.files[object].errorIn(ptr, err)
}
