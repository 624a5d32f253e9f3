package cluster

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/strictyaml"
)

// A keyReader finds the keys of an object that its kind does not have. A cluster drops them without an error.
type keyReader struct {
	fields map[reflect.Type]map[string][]int // by key
	warn   func(ptr jsontext.Pointer, err error)
}

// object finds the unknown keys of an object at ptr. OLM defines all keys of its kinds; metadata, a status and other
// kinds may have keys that newer versions define, so that only a key that is similar to another one is reported there.
func (r *keyReader) object(raw jsontext.Value, ptr jsontext.Pointer, o Kubernetes) {
	t, isOpen := reflect.TypeOf(o).Elem(), !isOfOLM(o.GetObjectKind().GroupVersionKind().Group)
	for key, value := range document.Children(raw) {
		r.member(value, ptr.AppendToken(key), t, key, isOpen || key == "metadata" || key == "status")
	}
}

// isOfOLM reports whether the API group is one of OLM.
func isOfOLM(group string) bool {
	return group == v1alpha1.GroupName || group == schema.FromAPIVersionAndKind(olmV1, "").Group
}

// member finds the unknown keys of the member of an object of type t, and reports it if its own key is unknown.
func (r *keyReader) member(raw jsontext.Value, ptr jsontext.Pointer, t reflect.Type, key string, isOpen bool) {
	fields := r.fieldsOf(t)
	if index, ok := fields[key]; ok {
		r.value(raw, ptr, t.FieldByIndex(index).Type, isOpen)
		return
	}
	hint := nearest.Hint(key, slices.Collect(maps.Keys(fields)))
	if hint != "" || !isOpen {
		r.warn(ptr, fmt.Errorf("unknown key %q is ignored%s", key, hint))
	}
}

func (r *keyReader) fieldsOf(t reflect.Type) map[string][]int {
	fields, ok := r.fields[t]
	if !ok {
		fields = strictyaml.Fields(t)
		r.fields[t] = fields
	}
	return fields
}

// value finds the unknown keys of a value of type t.
func (r *keyReader) value(raw jsontext.Value, ptr jsontext.Pointer, t reflect.Type, isOpen bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	isObject := raw.Kind() == jsontext.KindBeginObject
	switch kind := t.Kind(); {
	case kind == reflect.Struct && isObject:
		if len(r.fieldsOf(t)) == 0 {
			return // the type has its own decoder, such as a time
		}
		for key, value := range document.Children(raw) {
			r.member(value, ptr.AppendToken(key), t, key, isOpen)
		}
	case kind == reflect.Map && isObject, kind == reflect.Slice && raw.Kind() == jsontext.KindBeginArray:
		if hasKeys(t.Elem()) {
			for token, value := range document.Children(raw) {
				r.value(value, ptr.AppendToken(token), t.Elem(), isOpen)
			}
		}
	}
}

// hasKeys reports whether values of a type can have keys or elements.
func hasKeys(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Map, reflect.Slice:
		return true
	}
	return false
}

// similarKind returns an error that names the kind that an unknown kind probably means, nil if there is none.
func similarKind(of schema.GroupKind) error {
	var names []string
	for _, k := range kinds {
		names = append(names, k.GroupKind().String())
	}
	hint := nearest.Within(2, of.String(), names)
	if hint == "" {
		return nil
	}
	return fmt.Errorf("unknown kind %q (did you mean %q?)", of, hint)
}
