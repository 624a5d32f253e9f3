package cluster

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/skim"
)

// unknownKeys calls warn for the keys of an object at ptr that its kind does not have, which a cluster drops without
// an error. OLM defines all keys of its kinds; metadata, a status and other kinds may have keys that newer versions
// define, so that only a key that is similar to another one is reported there.
func unknownKeys(raw jsontext.Value, ptr jsontext.Pointer, o Kubernetes, warn func(ptr jsontext.Pointer, err error)) {
	isOpen := !isOfOLM(o.GetObjectKind().GroupVersionKind().Group)
	skim.KeyShape(reflect.TypeOf(o)).UnknownKeys(raw, func(at jsontext.Pointer, of *skim.Shape) *skim.Field {
		key := at.LastToken()
		hint := nearest.Hint(key, slices.Sorted(slices.Values(of.Names())))
		if hint != "" || !isOpen && !jsontext.Pointer("/metadata").Contains(at) && !jsontext.Pointer("/status").Contains(at) {
			warn(ptr+at, fmt.Errorf("unknown key %q is ignored%s", key, hint))
		}
		return nil
	})
}

// isOfOLM reports whether the API group is one of OLM.
func isOfOLM(group string) bool {
	return group == v1alpha1.GroupName || group == schema.FromAPIVersionAndKind(olmV1, "").Group
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
