package bundle

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A propertyOfCatalog is the property of a bundle in a catalog from which an object of its contents is read.
type propertyOfCatalog struct {
	index    int
	metadata bool // the property is olm.csv.metadata, which has the fields of the ClusterServiceVersion
}

// pointer returns the place of the value at ptr of the object, in the object of the catalog. A manifest is one string
// there.
func (p propertyOfCatalog) pointer(ptr jsontext.Pointer) jsontext.Pointer {
	at := place.Item("/properties", p.index)
	if !p.metadata {
		return at
	}
	field := strings.TrimPrefix(string(ptr), "/spec")
	field = strings.Replace(field, "/apiservicedefinitions", "/apiServiceDefinitions", 1)
	return at + "/value" + jsontext.Pointer(field)
}

// ContentsOf returns the contents of a bundle of a catalog, to judge them. Manifests that cannot be decoded are not in
// the contents, but among their refusals.
func ContentsOf(b *declcfg.Bundle) *Contents {
	c := &Contents{CSV: new(v1alpha1.ClusterServiceVersion), properties: map[any]propertyOfCatalog{}}
	found := false
	for i := range b.Properties {
		switch p := &b.Properties[i]; {
		case isDependency(p.Type):
			c.Dependencies = append(c.Dependencies, Dependency{Property: p.Type, ptr: place.Item("/properties", i)})
		case p.Type != declcfg.PropertyBundleObject:
		default:
			object, err := c.readProperty(p, found)
			if err != nil {
				r := Refusal{Kind: RefusedManifest, Err: err, Pointer: place.Item("/properties", i)}
				c.unreadable = append(c.unreadable, r)
				c.unreadableCSV = c.unreadableCSV || object == c.CSV
			}
			if object != nil {
				c.properties[object] = propertyOfCatalog{index: i}
			}
			found = found || object == c.CSV
		}
	}
	if !found && c.unreadable == nil {
		c.readCSVMetadata(b)
	}
	c.CSV.Name = b.Name
	return c
}

// readProperty reads a manifest. It returns the object that it becomes, nil if there is none. A ClusterServiceVersion
// after the first one is ignored.
func (c *Contents) readProperty(p *declcfg.Property, hasCSV bool) (object any, err error) {
	var data declcfg.BundleObject
	if err := p.Unmarshal(&data); err != nil {
		return nil, err
	}
	manifest, err := data.JSON()
	if err != nil {
		return nil, err
	}
	manifest = format.AppendCompact(nil, manifest)
	switch apiVersion, kind := typeOf(manifest); {
	case kind == "":
		return nil, nil // not a manifest
	case kind == kindCSV && hasCSV:
		return nil, nil
	case kind == kindCSV:
		return c.CSV, inManifest(decodeExact(manifest, c.CSV))
	case kind == kindCRD && apiVersion != crdV1:
		return nil, inManifest("/apiVersion", definitionVersionError(apiVersion))
	case kind == kindCRD:
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if err := inManifest(decodeExact(manifest, crd)); err != nil {
			return nil, err
		}
		crd.Spec.Versions = nil // they take memory, and are not judged
		c.CRDs = append(c.CRDs, crd)
		return crd, nil
	default:
		other := new(unstructured.Unstructured)
		if err := other.UnmarshalJSON(manifest); err != nil {
			return nil, err
		}
		c.Others = append(c.Others, other)
		return other, nil
	}
}

// decodeExact decodes a manifest whose keys count only if their case is right, as in OLM v1. If it fails, ptr leads to
// the value.
func decodeExact(manifest jsontext.Value, v any) (ptr jsontext.Pointer, err error) {
	object := new(unstructured.Unstructured)
	if err := object.UnmarshalJSON(manifest); err != nil {
		return "", err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, v); err != nil {
		return placed(manifest, v, err)
	}
	return "", nil
}

// definitionVersionError returns the error for a CustomResourceDefinition of an old version.
func definitionVersionError(apiVersion string) error {
	return fmt.Errorf("no cluster with OLM v1 has version %q, want %s", apiVersion, crdV1)
}

// readCSVMetadata reads the first olm.csv.metadata that can be decoded.
func (c *Contents) readCSVMetadata(b *declcfg.Bundle) {
	c.Partial = true
	for i := range b.Properties {
		var metadata struct {
			InstallModes []v1alpha1.InstallMode         `json:"installModes"`
			APIServices  v1alpha1.APIServiceDefinitions `json:"apiServiceDefinitions"`
		}
		p := &b.Properties[i]
		if p.Type != declcfg.PropertyCSVMetadata || p.Unmarshal(&metadata) != nil {
			continue
		}
		c.properties[c.CSV] = propertyOfCatalog{i, true}
		c.CSV.Spec.InstallModes, c.CSV.Spec.APIServiceDefinitions = metadata.InstallModes, metadata.APIServices
		return
	}
}
