package updatecheck

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
)

// resources are the custom resources of a cluster by kind.
type resources map[schema.GroupKind][]*unstructured.Unstructured

func resourcesOf(s *cluster.State) (resources, error) {
	if s == nil {
		return nil, nil
	}
	all := resources{}
	for of := range s.Others {
		var err error
		if all[of], err = Resources(s, of); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Resources returns the custom resources of a kind, nil if the state has none.
func Resources(s *cluster.State, of schema.GroupKind) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for o := range s.Other(of).All() {
		content, err := o.Value.Content()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Pos, err)
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	return all, nil
}

// of returns the custom resources of a definition.
func (r resources) of(crd *definition) []*unstructured.Unstructured {
	return r[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}]
}
