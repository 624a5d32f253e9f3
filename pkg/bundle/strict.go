package bundle

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opm-toolchain/opm/internal/skim"
)

// A csvObject is a ClusterServiceVersion as upstream converts it when it renders a bundle.
type csvObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
}

// A strictType is a type that upstream converts a manifest into. A bundle with a manifest that does not fit is not
// rendered. Nearly all manifests have the shape; the others are converted.
type strictType struct {
	shape *skim.Shape
	build func() any
}

func strict[T any](forms skim.Forms) strictType {
	return strictType{skim.ObjectShape(reflect.TypeFor[T](), forms), func() any { return new(T) }}
}

var strictCSV = sync.OnceValue(func() strictType {
	return strict[csvObject](skim.Forms{reflect.TypeFor[json.RawMessage](): anyJSON})
})

// strictCRDs are the types of CustomResourceDefinitions, by version.
var strictCRDs = map[string]func() strictType{
	"v1": sync.OnceValue(func() strictType {
		return strict[apiextensionsv1.CustomResourceDefinition](schemaForms[
			apiextensionsv1.JSONSchemaProps, apiextensionsv1.JSON, apiextensionsv1.JSONSchemaPropsOrArray,
			apiextensionsv1.JSONSchemaPropsOrBool, apiextensionsv1.JSONSchemaPropsOrStringArray,
		]())
	}),
	"v1beta1": sync.OnceValue(func() strictType {
		return strict[apiextensionsv1beta1.CustomResourceDefinition](schemaForms[
			apiextensionsv1beta1.JSONSchemaProps, apiextensionsv1beta1.JSON, apiextensionsv1beta1.JSONSchemaPropsOrArray,
			apiextensionsv1beta1.JSONSchemaPropsOrBool, apiextensionsv1beta1.JSONSchemaPropsOrStringArray,
		]())
	}),
}

func anyJSON(func(reflect.Type) *skim.Shape) *skim.Shape { return nil }

// schemaForms returns the shapes of the types in a schema that decode themselves.
func schemaForms[Schema, JSON, OrArray, OrBool, OrStrings any]() skim.Forms {
	type shapes = func(reflect.Type) *skim.Shape
	either := func(other reflect.Type) func(shapes) *skim.Shape {
		return func(of shapes) *skim.Shape { return skim.Either(of(reflect.TypeFor[Schema]()), of(other)) }
	}
	return skim.Forms{
		reflect.TypeFor[JSON]():      anyJSON,
		reflect.TypeFor[OrArray]():   either(reflect.TypeFor[[]Schema]()),
		reflect.TypeFor[OrBool]():    either(reflect.TypeFor[bool]()),
		reflect.TypeFor[OrStrings](): either(reflect.TypeFor[[]string]()),
	}
}

// check returns why upstream cannot convert a manifest, given in compact JSON with sorted keys. If the place is known,
// ptr leads to it.
func (t strictType) check(printed jsontext.Value) (ptr jsontext.Pointer, err error) {
	if cursor := skim.New(printed); cursor.SkipAs(t.shape) {
		return "", nil
	}
	object := new(unstructured.Unstructured)
	if err := object.UnmarshalJSON(printed); err != nil {
		return "", err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, t.build())
	if err == nil {
		return "", nil
	}
	// The conversion does not say where it failed. Decoding is nearly as strict, and does.
	if ptr, placed := decode(printed, t.build()); placed != nil {
		return ptr, placed
	}
	return "", err
}
