package install

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Manifests are the objects that a bundle installs, as far as the catalog includes them.
type Manifests struct {
	Image      string                          // of the bundle
	Properties []declcfg.Property              // of the bundle, except manifests and olm.csv.metadata
	CSV        *v1alpha1.ClusterServiceVersion // nil if it has none

	// Others are the other objects, with the types of [cluster.Decode], in the order in which OLM creates them. Of a
	// bundle with an image, that is the order of file names, which a catalog does not have: files are assumed to be
	// named after their objects. A CustomResourceDefinition of v1beta1 keeps its apiVersion.
	Others []cluster.Kubernetes

	// Partial is true for a bundle that has olm.csv.metadata instead of manifests. Its ClusterServiceVersion then has
	// no deployments and no permissions, and Others are its CustomResourceDefinitions, with schemas that accept any
	// object.
	Partial bool
}

// ReadManifests reads the manifests of a bundle in a catalog. The error is about the first manifest that cannot be
// decoded.
func ReadManifests(meta *declcfg.Meta) (*Manifests, error) {
	v, err := meta.Decode()
	if err != nil {
		return nil, err
	}
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil, fmt.Errorf("not a bundle: %q", meta.Schema)
	}
	m := &Manifests{Image: b.Image}
	for i := range b.Properties {
		switch p := &b.Properties[i]; p.Type {
		case declcfg.PropertyBundleObject:
			if err := m.add(p); err != nil {
				return nil, fmt.Errorf("properties[%d]: %w", i, err)
			}
		case declcfg.PropertyCSVMetadata:
		default:
			m.Properties = append(m.Properties, *p)
		}
	}
	if m.CSV == nil && len(m.Others) == 0 {
		return m, m.infer(b)
	}
	if m.Image != "" {
		slices.SortStableFunc(m.Others, func(a, b cluster.Kubernetes) int {
			return cmp.Or(cmp.Compare(a.GetName(), b.GetName()),
				cmp.Compare(cluster.KindOf(a).Kind, cluster.KindOf(b).Kind))
		})
	}
	return m, nil
}

func (m *Manifests) add(p *declcfg.Property) error {
	var object declcfg.BundleObject
	if err := p.Unmarshal(&object); err != nil {
		return err
	}
	text, err := object.JSON()
	if err != nil {
		return err
	}
	if m.CSV == nil && declcfg.IsCSV(text) {
		m.CSV = new(v1alpha1.ClusterServiceVersion)
		err := cluster.Unmarshal(text, m.CSV)
		m.CSV.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
		return err
	}
	var head metav1.TypeMeta
	var other cluster.Kubernetes
	if cluster.Unmarshal(text, &head) == nil && head == definitionV1beta1 {
		other, err = bundle.DecodeCRD(text)
	} else {
		other, err = cluster.Decode(text)
	}
	if err != nil {
		return err
	}
	m.Others = append(m.Others, other)
	return nil
}

var definitionV1beta1 = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1beta1", Kind: "CustomResourceDefinition"}

// infer derives the manifests from olm.csv.metadata, as far as possible.
func (m *Manifests) infer(b *declcfg.Bundle) error {
	meta := b.CSVMetadata()
	text, err := json.Marshal(map[string]any{
		"displayName": meta.DisplayName, "description": meta.Description, "keywords": meta.Keywords,
		"maintainers": meta.Maintainers, "provider": meta.Provider, "links": meta.Links, "maturity": meta.Maturity,
		"minKubeVersion": meta.MinKubeVersion, "nativeAPIs": meta.NativeAPIs, "installModes": meta.InstallModes,
		"customresourcedefinitions": meta.CRDDescriptions, "apiservicedefinitions": meta.APIServiceDefinitions,
		"install": map[string]any{
			"strategy": v1alpha1.InstallStrategyNameDeployment, "spec": map[string]any{"deployments": []string{}},
		},
	})
	if err != nil {
		return err
	}
	m.Partial = true
	m.CSV = &v1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Name: b.Name, Labels: meta.Labels, Annotations: meta.Annotations},
	}
	m.CSV.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	if err := cluster.Unmarshal(text, &m.CSV.Spec); err != nil {
		return err
	}
	for _, p := range m.Properties {
		var pkg declcfg.PackageProperty
		if p.Type == declcfg.PropertyPackage && p.Unmarshal(&pkg) == nil {
			if v, err := declcfg.ParseVersion(pkg.Version, ""); err == nil {
				m.CSV.Spec.Version.Version = v.Semver
			}
		}
	}
	m.addDefinitions()
	return nil
}

// anything is a schema that accepts any object.
var anything = apiextensionsv1.CustomResourceValidation{
	OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
}

// addDefinitions adds the CustomResourceDefinitions that the ClusterServiceVersion owns. Their schemas accept any
// object.
func (m *Manifests) addDefinitions() {
	known := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, d := range m.CSV.Spec.CustomResourceDefinitions.Owned {
		crd := known[d.Name]
		if crd == nil {
			plural, group, _ := strings.Cut(d.Name, ".")
			crd = &apiextensionsv1.CustomResourceDefinition{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
				ObjectMeta: metav1.ObjectMeta{Name: d.Name},
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{
					Group: group, Scope: apiextensionsv1.NamespaceScoped,
					Names: apiextensionsv1.CustomResourceDefinitionNames{
						Plural: plural, Singular: strings.ToLower(d.Kind), Kind: d.Kind, ListKind: d.Kind + "List",
					},
				},
			}
			known[d.Name] = crd
			m.Others = append(m.Others, crd)
		}
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: d.Version, Served: true, Storage: len(crd.Spec.Versions) == 0, Schema: &anything,
		})
	}
}

// Bundle returns a bundle of a CatalogSource, nil if the contents of the CatalogSource are not given or lack the
// bundle.
func (r *Request) Bundle(namespace, catalog, name string) *declcfg.Meta {
	if c := r.target(namespace, catalog); c != nil {
		for b := range bundles(c) {
			if b.Name == name {
				return b
			}
		}
	}
	return nil
}

// BundleNames returns the names of all bundles of the catalogs.
func (r *Request) BundleNames() []string {
	var names []string
	for _, c := range r.catalogSources {
		for b := range bundles(c) {
			names = append(names, b.Name)
		}
	}
	return names
}

// bundles yields the bundles of a catalog. It yields nothing if the contents of the catalog are not given.
func bundles(c *resolve.Catalog) iter.Seq[*declcfg.Meta] {
	return func(yield func(*declcfg.Meta) bool) {
		if c.Index == nil {
			return
		}
		for _, p := range c.Index.Packages() {
			for _, b := range p.Bundles {
				if !yield(b.Meta) {
					return
				}
			}
		}
	}
}

// InstalledProperties returns the properties of the bundle that a ClusterExtension has installed, and false if no
// ClusterCatalog has the bundle.
func (r *Request) InstalledProperties(e *cluster.Extension) (properties []resolve.Property, ok bool) {
	for _, c := range r.clusterCatalogs {
		if c.Index == nil || e.Spec.Source.Catalog == nil {
			continue
		}
		if in, ok := c.Operator(e.Spec.Source.Catalog.PackageName, e.Status.Install.Bundle.Name); ok {
			return in.Properties, true
		}
	}
	return nil, false
}
