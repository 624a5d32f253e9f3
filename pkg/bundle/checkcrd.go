package bundle

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The API versions of definitions.
const (
	crdV1      = "apiextensions.k8s.io/v1"
	crdV1beta1 = "apiextensions.k8s.io/v1beta1"
)

// checkDefinition checks what Kubernetes checks when the definition is created. Like upstream, it ignores problems of
// schemas and of everything with status in its path, such as spec.subresources.status.
func (c *checker) checkDefinition(m *manifest) {
	internal := new(apiextensions.CustomResourceDefinition)
	var ptr jsontext.Pointer
	var err error
	switch m.apiVersion {
	case crdV1:
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if ptr, err = decode(m.printed, crd); err == nil {
			apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
			err = apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
				crd, internal, nil)
		}
	case crdV1beta1:
		crd := new(apiextensionsv1beta1.CustomResourceDefinition)
		if ptr, err = decode(m.printed, crd); err == nil {
			apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(crd)
			err = apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
				crd, internal, nil)
		}
	default:
		c.find("crd-type", m.document, "/apiVersion", "%q: want %s or %s", m.apiVersion, crdV1, crdV1beta1)
		return
	}
	if err != nil {
		c.find("crd-type", m.document, ptr, "%w", err)
		return
	}
	list := crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal)
	list = slices.DeleteFunc(list, func(e *field.Error) bool {
		return strings.Contains(e.Field, "openAPIV3Schema") || strings.Contains(e.Field, "status")
	})
	for _, e := range list {
		ptr := fieldPointer(e.Field)
		if m.apiVersion == crdV1 {
			ptr = v1Pointer(ptr)
		}
		c.find("crd", m.document, ptr, "%s", fieldMessage(e))
	}
}

// v1Pointer returns where v1 has a field of the internal type, which is checked and looks like v1beta1: what is equal
// in all versions is moved out of them, and the fields of a webhook are not together.
func v1Pointer(ptr jsontext.Pointer) jsontext.Pointer {
	for _, moved := range [][2]jsontext.Pointer{
		{"/spec/validation", "/spec/versions/0/schema"},
		{"/spec/subresources", "/spec/versions/0/subresources"},
		{"/spec/additionalPrinterColumns", "/spec/versions/0/additionalPrinterColumns"},
		{"/spec/selectableFields", "/spec/versions/0/selectableFields"},
		{"/spec/conversion/webhookClientConfig", "/spec/conversion/webhook/clientConfig"},
		{"/spec/conversion/conversionReviewVersions", "/spec/conversion/webhook/conversionReviewVersions"},
	} {
		if moved[0].Contains(ptr) {
			return moved[1] + ptr[len(moved[0]):]
		}
	}
	return ptr
}
