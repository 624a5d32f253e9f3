package template

import "reflect"

// Shapes returns the Go types of template files by schema: structs with json tags, whose fields are in the order in
// which authors write the keys. A [jsontext.Value] in a list is a catalog object.
func Shapes() map[string]reflect.Type {
	shapes := map[string]reflect.Type{
		CompositeSchema: reflect.TypeFor[compositeContribution](),
		catalogsSchema:  reflect.TypeFor[compositeCatalogs](),
	}
	for _, k := range kinds {
		shapes[k.schema] = reflect.TypeOf(k.spec()).Elem()
	}
	return shapes
}
