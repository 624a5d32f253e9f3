package bundle

import (
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Contents are the manifests of a bundle of type registry+v1, as OLM v1 reads them.
type Contents struct {
	// Package is the name of the package in metadata/annotations.yaml, which may be "".
	Package string

	// CSV has the properties in metadata/properties.yaml appended to its annotation olm.properties, as in OLM v1.
	CSV *v1alpha1.ClusterServiceVersion

	// CRDs are of version v1, the only one in clusters with OLM v1, and have no status. They and Others are in the
	// order of their files.
	CRDs   []*apiextensionsv1.CustomResourceDefinition
	Others []*unstructured.Unstructured

	// Dependencies are in the order of the ClusterServiceVersion, properties and dependencies. They are those of the
	// bundle in a catalog, into which opm renders the files in metadata/ with any name.
	Dependencies []Dependency

	// Partial is true for a bundle of a catalog that has olm.csv.metadata, or nothing, instead of manifests. Its
	// ClusterServiceVersion then has install modes and owned APIServices only, and there are no other manifests.
	Partial bool

	annotations *document // nil for a bundle of a catalog

	files      map[any]*manifest         // by object
	properties map[any]propertyOfCatalog // by object, for a bundle of a catalog
	unreadable []Refusal                 // of manifests of a bundle of a catalog

	unreadableCSV bool // the ClusterServiceVersion is among them
}

// A Dependency is a requirement of a bundle, such as an API, that another operator must provide.
type Dependency struct {
	Property string // the type of the property that it becomes, such as olm.gvk.required

	doc placer // nil for a bundle of a catalog
	ptr jsontext.Pointer
}

// A placer makes errors about the values of a document or of a manifest in it.
type placer interface {
	errorIn(ptr jsontext.Pointer, err error) *declcfg.Error
}

// Error returns an error about the dependency, with its place.
func (d Dependency) Error(err error) *declcfg.Error { return d.doc.errorIn(d.ptr, err) }

// ReadContents reads the bundle in fsys as OLM v1 does, by the rules of operator-controller
// (internal/operator-controller/rukpak/bundle/source/source.go), which differ from those of [Parse]:
//
//   - A file in manifests/, hidden or not, may have any number of documents, and a list of objects, such as a List,
//     means its items. Of several ClusterServiceVersions, the last counts.
//   - The keys of ClusterServiceVersions and CustomResourceDefinitions count only if their case is right.
//   - Annotations are read from metadata/annotations.yaml, and properties from metadata/properties.yaml.
//   - Nothing is ignored: a directory in manifests/, a file that is not text, and a document that is not a manifest are
//     errors.
//
// The error joins a *[declcfg.Error] for each reason for which OLM v1 refuses the bundle; positions begin with name. Of
// the options, only Warn and Strict matter: they are about what OLM v1 does not read.
func ReadContents(fsys fs.FS, name string, opts Options) (*Contents, error) {
	r := newContentsReader(fsys, name, opts)
	meta := r.readMetadata()
	r.readManifests()
	if r.CSV == nil {
		if r.errs == nil {
			r.fail(r.inFile(manifestsDir, fmt.Errorf("no %s found in %q", kindCSV, manifestsDir)))
		}
		return nil, r.err()
	}
	if annotated, ok := r.annotatedProperties(); ok {
		r.collectDependencies(meta, annotated)
		r.annotateProperties(annotated)
	}
	return r.Contents, r.err()
}

// collectDependencies adds the dependencies from all their sources: the ClusterServiceVersion, properties and
// dependencies.
func (c *Contents) collectDependencies(meta *metadata, annotated []annotatedProperty) {
	csv := c.files[c.CSV]
	add := func(typ string, doc placer, ptr jsontext.Pointer) {
		if isDependency(typ) {
			c.Dependencies = append(c.Dependencies, Dependency{typ, doc, ptr})
		}
	}
	for i := range c.CSV.Spec.CustomResourceDefinitions.Required {
		add(declcfg.PropertyGVKRequired, csv, place.Item("/spec/customresourcedefinitions/required", i))
	}
	for i := range c.CSV.Spec.APIServiceDefinitions.Required {
		add(declcfg.PropertyGVKRequired, csv, place.Item("/spec/apiservicedefinitions/required", i))
	}
	for _, property := range annotated {
		add(property.Type, csv, atAnnotations.AppendToken(annotationProperties))
	}
	for i, d := range meta.properties {
		add(string(d.Type), meta.from.properties, place.Item("/properties", i))
	}
	for i, d := range meta.dependencies {
		add(requirementType(string(d.Type)), meta.from.dependencies, place.Item("/dependencies", i))
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

// ErrorIn returns an error about the value at ptr of an object of the contents, with its place. If the object is nil,
// it is about the annotations of the bundle.
func (c *Contents) ErrorIn(object any, ptr jsontext.Pointer, err error) *declcfg.Error {
	if object == nil {
		return c.annotations.errorIn(ptr, err)
	}
	return c.files[object].errorIn(ptr, err)
}
