package cluster

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Other is an object of a kind that a State has no field for. It is carried along whole.
type Other struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Unknown jsontext.Value `json:",embed"` // all other fields, as one JSON object; not to be changed in place
}

// DeepCopyObject returns a copy that shares the other fields, as runtime.Object requires.
func (o *Other) DeepCopyObject() runtime.Object {
	clone := *o
	clone.ObjectMeta = *o.ObjectMeta.DeepCopy()
	return &clone
}

// Content returns the object with the types that libraries of Kubernetes expect.
func (o *Other) Content() (map[string]any, error) {
	raw, err := json.Marshal(o, options)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	err = utiljson.Unmarshal(raw, &content)
	return content, err
}

// Decode returns the object of a manifest in JSON, of the type that a State has for its kind. Unknown fields are
// dropped, as in a cluster, apart from those of an [*Other]. An error names the field.
func Decode(manifest jsontext.Value) (Kubernetes, error) {
	var head metav1.TypeMeta
	within, err := unmarshal(manifest, &head)
	if err != nil {
		return nil, inField(within, err)
	}
	o, err := newObject(head)
	if err != nil {
		return nil, err
	}
	gvk := o.GetObjectKind().GroupVersionKind()
	if within, err = unmarshal(manifest, o); err != nil {
		return nil, inField(within, err)
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return o, nil
}

// inField returns an error about the value at a pointer.
func inField(ptr jsontext.Pointer, err error) error {
	if ptr == "" {
		return err
	}
	return fmt.Errorf("%s: %w", declcfg.Path(ptr), err)
}

var errNoType = errors.New("not an object of Kubernetes: it has no apiVersion or no kind")

// newObject returns an empty object of a type, apart from that type.
func newObject(of metav1.TypeMeta) (Kubernetes, error) {
	if of.Kind == "" || of.APIVersion == "" {
		return nil, errNoType
	}
	gvk := of.GroupVersionKind()
	k := kindOf(gvk.GroupKind())
	if k == nil {
		return &Other{TypeMeta: of}, nil
	}
	if gvk.Version != k.Version && gvk.Version != k.older {
		return nil, fmt.Errorf("unknown version %q of %s, want %q", of.APIVersion, of.Kind, k.GroupVersion())
	}
	o := k.create()
	o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return o, nil
}

// Get returns the object of a kind and name, and whether there is one. Objects without a namespace are in namespace "".
func (s *State) Get(of schema.GroupKind, namespace, name string) (o Object[Kubernetes], ok bool) {
	if store := s.storeOf(of); store != nil {
		return store.get(namespace, name)
	}
	return o, false
}

// Put adds an object, in place of the one of its kind and name. Its type must be set and be that of [Decode].
func (s *State) Put(o Object[Kubernetes]) {
	of := o.Value.GetObjectKind().GroupVersionKind().GroupKind()
	if s.storeOf(of) == nil {
		if s.Others == nil {
			s.Others = map[schema.GroupKind]*Store[*Other]{}
		}
		s.Others[of] = &Store[*Other]{}
	}
	s.storeOf(of).put(o)
}

// Delete removes the object of a kind and name, if there is one.
func (s *State) Delete(of schema.GroupKind, namespace, name string) {
	if store := s.storeOf(of); store != nil {
		store.Delete(namespace, name)
	}
}

// All yields all objects: kind by kind, in a fixed order, then by namespace and name.
func (s *State) All() iter.Seq[Object[Kubernetes]] {
	return func(yield func(Object[Kubernetes]) bool) {
		for _, store := range s.stores() {
			for o := range store.all() {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Clone returns a State of the same objects.
func (s *State) Clone() *State {
	clone := &State{Others: maps.Clone(s.Others)}
	for _, k := range kinds {
		k.store(clone).share(k.store(s))
	}
	for of, store := range clone.Others {
		c := store.Clone()
		clone.Others[of] = &c
	}
	return clone
}

// storeOf returns the Store of a kind, nil if there are no objects of that kind and no field for them.
func (s *State) storeOf(of schema.GroupKind) anyStore {
	if k := kindOf(of); k != nil {
		return k.store(s)
	}
	if store := s.Others[of]; store != nil {
		return store
	}
	return nil
}

// stores returns all Stores: those of kinds, then the Others by kind and group.
func (s *State) stores() []anyStore {
	var all []anyStore
	for _, k := range kinds {
		all = append(all, k.store(s))
	}
	for _, of := range slices.SortedFunc(maps.Keys(s.Others), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		all = append(all, s.Others[of])
	}
	return all
}

// An anyStore is a Store of any kind.
type anyStore interface {
	get(namespace, name string) (Object[Kubernetes], bool)
	put(o Object[Kubernetes])
	all() iter.Seq[Object[Kubernetes]]
	share(of anyStore)
	Delete(namespace, name string)
}

func (s *Store[P]) get(namespace, name string) (Object[Kubernetes], bool) {
	o, ok := s.Get(namespace, name)
	return Object[Kubernetes]{o.Value, o.Pos}, ok
}

func (s *Store[P]) put(o Object[Kubernetes]) { s.Put(Object[P]{o.Value.(P), o.Pos}) }

func (s *Store[P]) all() iter.Seq[Object[Kubernetes]] {
	return func(yield func(Object[Kubernetes]) bool) {
		for o := range s.All() {
			if !yield(Object[Kubernetes]{o.Value, o.Pos}) {
				return
			}
		}
	}
}

// share makes s a clone of another Store of its type.
func (s *Store[P]) share(of anyStore) { *s = of.(*Store[P]).Clone() }
