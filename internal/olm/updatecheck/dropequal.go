package updatecheck

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// dropEqual returns copies of two normalized definitions, without the fields that are equal in a version of both.
// Crdify copies every field several times before it finds most of them equal.
func dropEqual(before, after *definition) (b, a *definition) {
	b, a = new(*before), new(*after)
	b.Spec.Versions, a.Spec.Versions = slices.Clone(b.Spec.Versions), slices.Clone(a.Spec.Versions)
	for i := range b.Spec.Versions {
		was, is := &b.Spec.Versions[i], versionOf(a, b.Spec.Versions[i].Name)
		if is == nil || was.Schema.OpenAPIV3Schema == nil || is.Schema.OpenAPIV3Schema == nil {
			continue
		}
		had, has := dropEqualFields(was.Schema.OpenAPIV3Schema, is.Schema.OpenAPIV3Schema)
		was.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: had}
		is.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: has}
	}
	return b, a
}

// dropEqualFields is dropEqual for schemas. It drops equal parts of properties and items only, because crdify compares
// the rest as part of the surrounding schema.
func dropEqualFields(before, after *props) (b, a *props) {
	b, a = new(*before), new(*after)
	b.Properties, a.Properties = maps.Clone(b.Properties), maps.Clone(a.Properties)
	for name, was := range before.Properties {
		is, ok := after.Properties[name]
		switch {
		case !ok:
		case equality.Semantic.DeepEqual(&was, &is):
			delete(b.Properties, name)
			delete(a.Properties, name)
		default:
			had, has := dropEqualFields(&was, &is)
			b.Properties[name], a.Properties[name] = *had, *has
		}
	}
	if was, is := before.Items, after.Items; was != nil && is != nil && was.Schema != nil && is.Schema != nil {
		b.Items, a.Items = new(*was), new(*is)
		b.Items.Schema, a.Items.Schema = dropEqualFields(was.Schema, is.Schema)
	}
	return b, a
}
