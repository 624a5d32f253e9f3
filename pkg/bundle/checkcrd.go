package bundle

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkDefinition checks what Kubernetes checks when the definition is created. Like upstream, it ignores problems of
// schemas and of everything with status in its path, such as spec.subresources.status.
func (c *checker) checkDefinition(m *manifest) {
	internal, ptr, err := decodeCRD(m.apiVersion, m.printed)
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
