package template

import "reflect"

// Shapes returns, by schema, what the files of templates are read into: structs with json tags, whose fields are in the
// order in which people write the keys. A [jsontext.Value] in a list is an object of a catalog.
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
