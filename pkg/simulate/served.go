package simulate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A serving says whether a cluster serves a kind of objects.
type serving int

const (
	servingUnknown serving = iota
	served
	notServed
)

// serving returns whether the cluster serves a kind of objects. Its definitions and APIServices say so. A state without
// definitions says nothing, and one without APIServices nothing about the groups of Kubernetes itself.
func (r *run) serving(of schema.GroupVersionKind) serving {
	for o := range r.State.CustomResourceDefinitions.All() {
		spec := &o.Value.Spec
		if spec.Group == of.Group && spec.Names.Kind == of.Kind {
			i := slices.IndexFunc(spec.Versions, isVersion(of.Version))
			return servedIf(i >= 0 && spec.Versions[i].Served)
		}
	}
	if o, ok := r.State.APIServices.Get("", of.Version+"."+of.Group); ok {
		return servedIf(o.Value.Spec.Service != nil || isOfKubernetes(of.Group))
	}
	_, listed := r.input.APIServices.Get("", "v1.") // which every cluster has
	switch {
	case listed:
		return notServed
	case !hasOthers(&r.input.CustomResourceDefinitions), isOfKubernetes(of.Group):
		return servingUnknown
	}
	return notServed
}

func servedIf(ok bool) serving {
	if ok {
		return served
	}
	return notServed
}

// isOfKubernetes reports whether a group is one of Kubernetes itself.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
