package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A csvObject is a ClusterServiceVersion as upstream converts it when it renders a bundle.
type csvObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec"`
}

// A strictType is a type to which upstream converts manifests. Upstream does not render a bundle with a manifest that
// does not match its type. The shape is a fast check that nearly all manifests pass; the others are converted.
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

// check returns an error if upstream cannot convert a manifest, given in compact JSON with sorted keys. If the wrong
// value is known, ptr leads to it.
func (t strictType) check(printed jsontext.Value) (ptr jsontext.Pointer, err error) {
	if cursor := skim.New(printed); cursor.SkipAs(t.shape) {
		return "", nil
	}
	return decodeExact(printed, t.build())
}

// placed returns the error of converting a manifest to the type of v, with the pointer to the value if that is known:
// the conversion does not report it. Decoding, which is nearly as strict, does.
func placed(printed jsontext.Value, v any, err error) (jsontext.Pointer, error) {
	if ptr, placed := decode(printed, v); placed != nil {
		return ptr, placed
	}
	return "", err
}

// bundleObject returns the property that contains a manifest.
func bundleObject(printed []byte) declcfg.Property {
	const before, after = `{"data":"`, `"}`
	size := len(before) + base64.StdEncoding.EncodedLen(len(printed)) + len(after)
	value := append(make([]byte, 0, size), before...)
	value = base64.StdEncoding.AppendEncode(value, printed)
	value = append(value, after...)
	return declcfg.Property{Type: declcfg.PropertyBundleObject, Value: value, Ordered: true}
}

// printManifest returns a manifest in the form in which opm writes it: compact, the keys sorted at every level, <, >
// and & escaped in strings. Numbers keep their digits as in package format, but zero has no sign. The result is valid
// until the next call.
func (p *parser) printManifest(manifest jsontext.Value) jsontext.Value {
	p.sorted = format.AppendCompact(p.sorted[:0], manifest)
	p.printed = appendHTML(p.printed[:0], unsignedZeros(p.sorted))
	return p.printed
}

// appendHTML appends text, which is compact JSON, to dst with the special characters of HTML escaped.
func appendHTML(dst, text []byte) []byte {
	b := bytes.NewBuffer(dst)
	jsonv1.HTMLEscape(b, text)
	return b.Bytes()
}

// unsignedZeros turns -0 into 0 in text, which is compact JSON and is overwritten.
func unsignedZeros(text []byte) []byte {
	if !mayContainNegativeZero(text) {
		return text
	}
	kept, quoted, escaped := text[:0], false, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == '-' && !quoted && isZero(text[i+1:]):
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// mayContainNegativeZero reports whether text may contain -0, which is very rare.
func mayContainNegativeZero(text []byte) bool {
	for _, before := range ":,[" {
		if bytes.Contains(text, []byte(string(before)+"-0")) {
			return true
		}
	}
	return false
}

// isZero reports whether text, the rest of an object, begins with the number 0.
func isZero(text []byte) bool {
	return len(text) > 1 && text[0] == '0' && bytes.IndexByte([]byte(",]}"), text[1]) >= 0
}
