package bundle

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
)

// The API versions of definitions.
const (
	crdV1      = "apiextensions.k8s.io/v1"
	crdV1beta1 = "apiextensions.k8s.io/v1beta1"
)

// DecodeCRD decodes a CustomResourceDefinition of version v1 or v1beta1, given in JSON, into the v1 object that a
// cluster returns: with defaults, and with the keys of all values sorted. Its APIVersion is the manifest's.
func DecodeCRD(manifest jsontext.Value) (*apiextensionsv1.CustomResourceDefinition, error) {
	sorted := format.AppendCompact(nil, manifest)
	apiVersion, _ := typeOf(sorted)
	if apiVersion == crdV1 {
		crd, ptr, err := decodeV1CRD(sorted)
		return crd, inManifest(ptr, err)
	}
	internal, ptr, err := decodeCRD(apiVersion, sorted)
	if err != nil {
		return nil, inManifest(ptr, err)
	}
	crd := new(apiextensionsv1.CustomResourceDefinition)
	err = apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal, crd, nil)
	crd.APIVersion, crd.Kind = apiVersion, kindCRD
	return crd, err
}

// inManifest adds the path of a value to an error about it.
func inManifest(ptr jsontext.Pointer, err error) error {
	if err == nil || ptr == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place.Path(ptr), err)
}

func decodeV1CRD(sorted jsontext.Value) (*apiextensionsv1.CustomResourceDefinition, jsontext.Pointer, error) {
	crd := new(apiextensionsv1.CustomResourceDefinition)
	ptr, err := decode(sorted, crd)
	if err != nil {
		return nil, ptr, err
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	return crd, "", nil
}

// decodeCRD decodes a definition of any version, whose keys are sorted, into the internal type of Kubernetes.
func decodeCRD(
	apiVersion string, sorted jsontext.Value,
) (internal *apiextensions.CustomResourceDefinition, ptr jsontext.Pointer, err error) {
	internal = new(apiextensions.CustomResourceDefinition)
	switch apiVersion {
	case crdV1:
		var crd *apiextensionsv1.CustomResourceDefinition
		if crd, ptr, err = decodeV1CRD(sorted); err == nil {
			err = apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
				crd, internal, nil)
		}
	case crdV1beta1:
		crd := new(apiextensionsv1beta1.CustomResourceDefinition)
		if ptr, err = decode(sorted, crd); err == nil {
			apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(crd)
			err = apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
				crd, internal, nil)
		}
	default:
		return nil, "/apiVersion", fmt.Errorf("%q: want %s or %s", apiVersion, crdV1, crdV1beta1)
	}
	return internal, ptr, err
}
