package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/opm-toolchain/opm/internal/place"
)

// An Other is an object whose kind has no field in State. It keeps all its fields.
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
// dropped, as in a cluster, unless it is an [*Other]. An error names the field.
func Decode(manifest jsontext.Value) (Kubernetes, error) {
	var head metav1.TypeMeta
	if err := Unmarshal(manifest, &head); err != nil {
		return nil, err
	}
	o, err := newObject(head)
	if err != nil {
		return nil, err
	}
	gvk := o.GetObjectKind().GroupVersionKind()
	if err := Unmarshal(manifest, o); err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return o, nil
}

// Unmarshal reads JSON into an object or a part of one, by the rules of a cluster. The error names the invalid value.
func Unmarshal(raw jsontext.Value, v any) error {
	ptr, err := unmarshal(raw, v)
	if ptr == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place.Path(ptr), err)
}

// As reads an object into a value of another type that has some of its fields, such as a [*corev1.Pod] or a struct with
// a part of the status. Other fields are dropped. The error names the invalid value.
func As(o Kubernetes, v any) error {
	raw, err := json.Marshal(o, options)
	if err != nil {
		return err
	}
	return Unmarshal(raw, v)
}

var errNoType = errors.New("not an object of Kubernetes: it has no apiVersion or no kind")

// newObject returns an empty object of a type.
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

// Get returns an object, and whether it exists. Objects without a namespace are in namespace "".
func (s *State) Get(of schema.GroupKind, namespace, name string) (Object[Kubernetes], bool) {
	return s.storeOf(of).get(namespace, name)
}

// Put adds an object, or replaces the existing one of its kind and name. Its type must be set, to the type that
// [Decode] returns.
func (s *State) Put(o Object[Kubernetes]) {
	of := KindOf(o.Value)
	if kindOf(of) == nil && s.Others[of] == nil {
		if s.Others == nil {
			s.Others = map[schema.GroupKind]*Store[*Other]{}
		}
		s.Others[of] = &Store[*Other]{}
	}
	s.storeOf(of).put(o)
}

// Delete removes an object if it exists.
func (s *State) Delete(of schema.GroupKind, namespace, name string) {
	s.storeOf(of).Delete(namespace, name)
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

// In yields the objects of a kind in a namespace by name, as [Store.In] does.
func (s *State) In(of schema.GroupKind, namespace string) iter.Seq[Object[Kubernetes]] {
	return s.storeOf(of).in(namespace)
}

// Of yields the objects of a kind, as [Store.All] does.
func (s *State) Of(of schema.GroupKind) iter.Seq[Object[Kubernetes]] { return s.storeOf(of).all() }

// Other returns the objects of a kind without a field in State. To put another one, use [State.Put].
func (s *State) Other(of schema.GroupKind) *Store[*Other] {
	return cmp.Or(s.Others[of], &Store[*Other]{})
}

// Clone returns a new State that shares the objects.
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

// storeOf returns the Store of a kind. It is not part of the State if that has no field for the kind and no objects of
// it.
func (s *State) storeOf(of schema.GroupKind) anyStore {
	if k := kindOf(of); k != nil {
		return k.store(s)
	}
	return s.Other(of)
}

// stores returns all Stores: the fields in the order of kinds, then the Others by kind and group.
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
	in(namespace string) iter.Seq[Object[Kubernetes]]
	share(of anyStore)
	Delete(namespace, name string)
}

func (s *Store[P]) get(namespace, name string) (Object[Kubernetes], bool) {
	o, ok := s.Get(namespace, name)
	return Object[Kubernetes]{o.Value, o.Pos, o.Zeros}, ok
}

func (s *Store[P]) put(o Object[Kubernetes]) { s.Put(Object[P]{o.Value.(P), o.Pos, o.Zeros}) }

func (s *Store[P]) all() iter.Seq[Object[Kubernetes]] { return ofAnyKind(s.All()) }

func (s *Store[P]) in(namespace string) iter.Seq[Object[Kubernetes]] {
	return ofAnyKind(s.In(namespace))
}

func ofAnyKind[P Kubernetes](objects iter.Seq[Object[P]]) iter.Seq[Object[Kubernetes]] {
	return func(yield func(Object[Kubernetes]) bool) {
		for o := range objects {
			if !yield(Object[Kubernetes]{o.Value, o.Pos, o.Zeros}) {
				return
			}
		}
	}
}

// share makes s a clone of another Store of the same type.
func (s *Store[P]) share(of anyStore) { *s = of.(*Store[P]).Clone() }

// nameOf returns the kind and the name of an object.
func nameOf(o Kubernetes) string {
	name := strconv.Quote(o.GetName())
	if ns := o.GetNamespace(); ns != "" {
		name = strconv.Quote(ns + "/" + o.GetName())
	}
	return o.GetObjectKind().GroupVersionKind().Kind + " " + name
}
