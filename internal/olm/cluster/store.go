package cluster

import (
	"iter"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Object is an object of a cluster and its position in a file.
type Object[P Kubernetes] struct {
	Value P
	Pos   declcfg.Pos // the zero Pos if the object was not read from a file

	// Zeros are the fields of a custom resource's spec that are 0 or false and that its Go type omits. A client with the
	// Go type removes them when it writes the whole object, but not when it writes the status.
	Zeros map[string]jsontext.Value
}

// Kubernetes is the interface of all objects of a cluster.
type Kubernetes interface {
	metav1.Object
	runtime.Object
}

// KindOf returns the kind of an object.
func KindOf(o Kubernetes) schema.GroupKind { return o.GetObjectKind().GroupVersionKind().GroupKind() }

// A Store is the set of objects of one kind, by namespace and name. Objects without a namespace are in namespace "".
// The zero Store is empty.
//
// A Store and its clones share the objects: to change an object, put a changed copy. A Store is not safe for concurrent
// use, except that goroutines may read different namespaces.
type Store[P Kubernetes] struct {
	namespaces map[string]*scope[P]
	names      []string // of the namespaces, sorted; nil if they have to be sorted again
	length     int
}

// A scope has the objects of a namespace.
type scope[P Kubernetes] struct {
	objects map[string]Object[P]
	names   []string // of the objects, sorted; nil if they have to be sorted again
}

// Len returns the number of objects.
func (s *Store[P]) Len() int { return s.length }

// LenIn returns the number of objects in a namespace.
func (s *Store[P]) LenIn(namespace string) int {
	if in := s.namespaces[namespace]; in != nil {
		return len(in.objects)
	}
	return 0
}

// Get returns an object, and whether it exists.
func (s *Store[P]) Get(namespace, name string) (o Object[P], ok bool) {
	if in := s.namespaces[namespace]; in != nil {
		o, ok = in.objects[name]
	}
	return o, ok
}

// Put adds an object, or replaces the existing one of the same namespace and name.
func (s *Store[P]) Put(o Object[P]) {
	namespace, name := o.Value.GetNamespace(), o.Value.GetName()
	in := s.namespaces[namespace]
	if in == nil {
		if s.namespaces == nil {
			s.namespaces = map[string]*scope[P]{}
		}
		in = &scope[P]{objects: map[string]Object[P]{}}
		s.namespaces[namespace], s.names = in, nil
	}
	if _, ok := in.objects[name]; !ok {
		in.names = nil
		s.length++
	}
	in.objects[name] = o
}

// Delete removes an object if it exists.
func (s *Store[P]) Delete(namespace, name string) {
	in := s.namespaces[namespace]
	if in == nil {
		return
	}
	if _, ok := in.objects[name]; !ok {
		return
	}
	delete(in.objects, name)
	in.names = nil
	s.length--
	if len(in.objects) == 0 {
		delete(s.namespaces, namespace)
		s.names = nil
	}
}

// All yields the objects by namespace and name. Objects that are put or deleted meanwhile may or may not be yielded.
func (s *Store[P]) All() iter.Seq[Object[P]] {
	return func(yield func(Object[P]) bool) {
		for _, namespace := range s.Namespaces() {
			for o := range s.In(namespace) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// In yields the objects of a namespace by name, as All does.
func (s *Store[P]) In(namespace string) iter.Seq[Object[P]] {
	return func(yield func(Object[P]) bool) {
		in := s.namespaces[namespace]
		if in == nil {
			return
		}
		if in.names == nil {
			in.names = slices.Sorted(maps.Keys(in.objects))
		}
		for _, name := range in.names {
			if o, ok := in.objects[name]; ok && !yield(o) {
				return
			}
		}
	}
}

// Namespaces returns the namespaces that have objects, sorted. Callers must not change the slice.
func (s *Store[P]) Namespaces() []string {
	if s.names == nil {
		s.names = slices.Sorted(maps.Keys(s.namespaces))
	}
	return s.names
}

// Clone returns a new Store that shares the objects.
func (s *Store[P]) Clone() Store[P] {
	c := Store[P]{namespaces: map[string]*scope[P]{}, length: s.length}
	for namespace, in := range s.namespaces {
		c.namespaces[namespace] = &scope[P]{objects: maps.Clone(in.objects)}
	}
	return c
}
