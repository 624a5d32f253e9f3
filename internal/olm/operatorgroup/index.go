package operatorgroup

import (
	"cmp"
	"maps"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// An Index finds the OperatorGroups that provide an API in namespaces that another group targets, without comparing all
// pairs of groups. It is not safe for concurrent use.
type Index struct {
	groups map[types.NamespacedName]*entry

	// By API, the groups that provide it: those that target single namespaces, and those that target all namespaces.
	singleByAPI, allByAPI map[schema.GroupVersionKind]sets.Set[*entry]

	// By namespace, the groups that target it and provide APIs. Groups that target all namespaces are not included.
	byNamespace map[string]sets.Set[*entry]
}

// An entry is a group in an Index.
type entry struct {
	name    types.NamespacedName
	apis    APIs
	targets sets.Set[string] // with the namespace of the group; empty if it targets all or no namespaces
	all     bool
}

// NewIndex returns an index of groups.
func NewIndex(groups ...*operatorsv1.OperatorGroup) *Index {
	x := &Index{
		groups:      map[types.NamespacedName]*entry{},
		singleByAPI: map[schema.GroupVersionKind]sets.Set[*entry]{},
		allByAPI:    map[schema.GroupVersionKind]sets.Set[*entry]{},
		byNamespace: map[string]sets.Set[*entry]{},
	}
	for _, g := range groups {
		x.Put(g)
	}
	return x
}

// Put adds a group with its status.namespaces and its annotation, or replaces its entry.
func (x *Index) Put(g *operatorsv1.OperatorGroup) {
	name := Key(g)
	x.Delete(name)
	e := &entry{name: name, apis: Annotated(g), targets: sets.Set[string]{}}
	switch {
	case slices.Contains(g.Status.Namespaces, metav1.NamespaceAll):
		e.all = true
	case len(g.Status.Namespaces) > 0:
		e.targets.Insert(g.Status.Namespaces...).Insert(g.Namespace)
	}
	x.groups[name] = e
	x.updateSets(e, add)
}

// Delete removes a group if the index has it.
func (x *Index) Delete(name types.NamespacedName) {
	if e := x.groups[name]; e != nil {
		delete(x.groups, name)
		x.updateSets(e, remove)
	}
}

// updateSets calls do for every set to which an entry belongs.
func (x *Index) updateSets(e *entry, do func(set sets.Set[*entry], e *entry) sets.Set[*entry]) {
	providers := x.singleByAPI
	if e.all {
		providers = x.allByAPI
	} else if len(e.targets) == 0 {
		return
	}
	for api := range e.apis {
		providers[api] = do(providers[api], e)
	}
	if len(e.apis) > 0 {
		for ns := range e.targets {
			x.byNamespace[ns] = do(x.byNamespace[ns], e)
		}
	}
}

func add(set sets.Set[*entry], e *entry) sets.Set[*entry] {
	if set == nil {
		set = sets.Set[*entry]{}
	}
	return set.Insert(e)
}

func remove(set sets.Set[*entry], e *entry) sets.Set[*entry] { return set.Delete(e) }

// Rivals returns the other groups that provide one of the APIs in a namespace that the named group also targets, by
// namespace and name. The named group must be in the index.
func (x *Index) Rivals(name types.NamespacedName, apis APIs) []types.NamespacedName {
	e := x.groups[name]
	if e == nil || !e.all && len(e.targets) == 0 {
		return nil
	}
	found := sets.Set[*entry]{}
	var common []schema.GroupVersionKind // provided by more groups than e has namespaces
	for api := range apis {
		maps.Copy(found, x.allByAPI[api])
		switch candidates := x.singleByAPI[api]; {
		case e.all:
			maps.Copy(found, candidates)
		case len(candidates) > len(e.targets):
			common = append(common, api)
		default:
			for c := range candidates {
				if intersect(e.targets, c.targets) {
					found.Insert(c)
				}
			}
		}
	}
	if len(common) > 0 {
		for ns := range e.targets {
			for c := range x.byNamespace[ns] {
				if c.apis.HasAny(common...) {
					found.Insert(c)
				}
			}
		}
	}
	return sorted(found.Delete(e))
}

// Shared returns the namespaces that two groups of the index both target, sorted. A group also targets its own
// namespace. [""] means all; nil means that the groups share no namespace.
func (x *Index) Shared(a, b types.NamespacedName) []string {
	e, other := x.groups[a], x.groups[b]
	switch {
	case e == nil || other == nil:
		return nil
	case e.all && other.all:
		return []string{metav1.NamespaceAll}
	case e.all:
		return sets.List(other.targets)
	case other.all:
		return sets.List(e.targets)
	}
	return sets.List(e.targets.Intersection(other.targets))
}

func intersect(a, b sets.Set[string]) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for s := range a {
		if b.Has(s) {
			return true
		}
	}
	return false
}

func sorted(entries sets.Set[*entry]) []types.NamespacedName {
	var names []types.NamespacedName
	for e := range entries {
		names = append(names, e.name)
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return names
}

// Key returns the namespace and the name of a group.
func Key(g *operatorsv1.OperatorGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
}
