package simulate

import (
	"fmt"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/catalogsource"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

var podKind = schema.GroupKind{Kind: "Pod"}

// servePod runs the pod of a CatalogSource, with all that belongs to it, unless its status says that this was done. A
// pod that serves something else is replaced.
func (r *run) servePod(o source) source {
	outdated, current := r.podsOf(o.Value)
	if o.Value.Status.RegistryServiceStatus != nil && (current || len(outdated) == 0) {
		return o
	}
	text, reading := "of another image", "the pod of a CatalogSource runs its image"
	if catalogsource.FromConfigMap(o.Value) {
		text, reading = "of another version of the ConfigMap", "the pod of a CatalogSource reads its ConfigMap once"
	}
	for _, old := range outdated {
		r.State.Delete(podKind, old.Value.Namespace, old.Value.Name)
		r.event(Deleted, old.Value, old.Pos, text, computed(reading))
	}
	why := computed("a pod serves the catalog of a CatalogSource")
	for _, made := range r.podObjects(o.Value) {
		r.put(made, "for CatalogSource "+o.Value.Name, why)
	}
	service := catalogsource.RegistryService(o.Value)
	return update(r, &r.State.CatalogSources, o, func(c *v1alpha1.CatalogSource) {
		c.Status.RegistryServiceStatus = service
	}, "registryService "+service.ServiceName, why)
}

// findPods finds the pods of all CatalogSources.
func (r *run) findPods() {
	r.pods = map[types.NamespacedName][]cluster.Object[*cluster.Other]{}
	pods := r.State.Others[podKind]
	if pods == nil {
		return
	}
	for o := range pods.All() {
		if name, ok := o.Value.Labels[catalogsource.LabelName]; ok {
			of := types.NamespacedName{Namespace: o.Value.Namespace, Name: name}
			r.pods[of] = append(r.pods[of], o)
		}
	}
}

// podsOf returns the pods of a CatalogSource that serve another image or ConfigMap, and reports whether one serves it.
func (r *run) podsOf(c *v1alpha1.CatalogSource) (outdated []cluster.Object[*cluster.Other], current bool) {
	for _, o := range r.pods[keyOf(c)] {
		var pod corev1.Pod
		if decode(o.Value, &pod) != nil {
			continue
		}
		if catalogsource.Serves(&pod, c) {
			current = true
			continue
		}
		outdated = append(outdated, o)
	}
	return outdated, current
}

// asKubernetes reads and writes JSON as the types of Kubernetes expect it.
var asKubernetes = jsonv1.DefaultOptionsV1()

// podObjects returns the objects that OLM creates to serve a catalog, in its order. In a cluster the name of the pod is
// random.
func (r *run) podObjects(c *v1alpha1.CatalogSource) []cluster.Kubernetes {
	var namespace *corev1.Namespace
	if o, ok := r.State.Namespaces.Get("", c.Namespace); ok {
		namespace = o.Value
	}
	pod := catalogsource.Pod(c, catalogsource.Security(c, namespace))
	pod.Name = pod.GenerateName + "0"
	pod.Labels[catalogsource.LabelPodHash] = rbac.Hash(&pod.Spec)
	service := catalogsource.Service(c)
	service.Labels[catalogsource.LabelServiceHash] = rbac.Hash(&service.Spec)
	switch {
	case catalogsource.FromConfigMap(c):
		r.assume("OLM serves catalogs from ConfigMaps with " + catalogsource.ConfigMapImage)
	case c.Spec.GrpcPodConfig != nil && c.Spec.GrpcPodConfig.ExtractContent != nil:
		r.assume(fmt.Sprintf("OLM serves catalogs that it extracts with %s and %s", catalogsource.OpmImage,
			catalogsource.OLMImage))
	}
	objects := []cluster.Kubernetes{catalogsource.ServiceAccount(c)}
	if catalogsource.FromConfigMap(c) {
		role, binding := catalogsource.Permissions(c)
		objects = append(objects, role, binding)
	}
	for _, p := range catalogsource.NetworkPolicies(c) {
		objects = append(objects, untyped(p))
	}
	return append(objects, untyped(pod), untyped(service))
}

// untyped returns an object of a kind for which a State has no field.
func untyped(o cluster.Kubernetes) cluster.Kubernetes {
	object, err := cluster.Decode([]byte(jsonText(o)))
	if err != nil {
		panic(err) // what is written here can be read
	}
	return object
}

// decode reads an object of such a kind into the type that it has in Kubernetes.
func decode(o cluster.Kubernetes, into any) error {
	return json.Unmarshal([]byte(jsonText(o)), into, asKubernetes)
}
