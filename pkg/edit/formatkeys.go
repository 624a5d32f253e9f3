package edit

import (
	"maps"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/layout"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// keyOrder returns the order of keys of all objects that opm knows: that of the fields of the types it reads them into.
var keyOrder = sync.OnceValue(func() *layout.Order {
	objects := &layout.Order{Schemas: map[string]*layout.Order{}}
	for schema, t := range map[string]reflect.Type{
		declcfg.SchemaPackage:      reflect.TypeFor[declcfg.Package](),
		declcfg.SchemaChannel:      reflect.TypeFor[declcfg.Channel](),
		declcfg.SchemaBundle:       reflect.TypeFor[declcfg.Bundle](),
		declcfg.SchemaDeprecations: reflect.TypeFor[declcfg.Deprecations](),
	} {
		objects.Schemas[schema] = keysOf(t, objects)
	}
	all := &layout.Order{Schemas: maps.Clone(objects.Schemas)}
	for schema, t := range template.Shapes() {
		all.Schemas[schema] = keysOf(t, objects)
	}
	return all
})

// keysOf returns the order of the keys of what is read into a type. Elements of lists that the type says nothing about
// are objects.
func keysOf(t reflect.Type, objects *layout.Order) *layout.Order {
	switch {
	case t == reflect.TypeFor[[]jsontext.Value]():
		return objects
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice:
		return keysOf(t.Elem(), objects)
	case t.Kind() != reflect.Struct:
		return nil
	}
	o := &layout.Order{In: map[string]*layout.Order{}}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		o.Keys = append(o.Keys, name)
		if inner := keysOf(field.Type, objects); inner != nil {
			o.In[strings.ToLower(name)] = inner
		}
	}
	return o
}
