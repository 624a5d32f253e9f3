package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/operator"
)

type source = cluster.Object[*v1alpha1.CatalogSource]

// The states of a connection to a catalog.
const (
	connected    = "READY"
	disconnected = "TRANSIENT_FAILURE"
)

// catalogSources checks CatalogSources, expands the templates of their images, runs their pods, and connects to them.
func catalogSources(_ context.Context, r *run) error {
	r.findPods()
	for o := range r.State.CatalogSources.All() {
		if err := catalogsource.Check(o.Value); err != nil {
			r.reject(o, err)
			continue
		}
		o = r.expandTemplate(o)
		if catalogsource.FromConfigMap(o.Value) {
			var ok bool
			if o, ok = r.configMap(o); !ok {
				continue
			}
		}
		o = r.clearError(o)
		if catalogsource.HasPod(o.Value) {
			o = r.checkInterval(r.servePod(o))
		}
		r.connect(o)
	}
	return nil
}

// reject sets the error of an invalid spec.
func (r *run) reject(o source, err error) {
	why := computed("OLM does not connect to a CatalogSource with an invalid spec, nor resolve namespaces that can see it")
	o = r.setError(o, v1alpha1.CatalogSourceSpecInvalidError, err.Error(), why)
	wait(r, o, "a valid spec: "+err.Error(), Computed)
}

// clearError removes the error of a spec that was invalid, or a ConfigMap that was missing.
func (r *run) clearError(o source) source {
	switch o.Value.Status.Reason {
	case v1alpha1.CatalogSourceSpecInvalidError:
		return r.setError(o, "", "", computed("the spec is valid"))
	case v1alpha1.CatalogSourceConfigMapError:
		return r.setError(o, "", "", computed("the ConfigMap exists"))
	}
	return o
}

// checkInterval sets the error of an invalid polling interval. OLM then polls every 15 minutes.
func (r *run) checkInterval(o source) source {
	strategy := o.Value.Spec.UpdateStrategy
	if strategy == nil || strategy.RegistryPoll == nil || strategy.ParsingError == "" {
		return o
	}
	return r.setError(o, v1alpha1.CatalogSourceIntervalInvalidError, strategy.ParsingError,
		computed("OLM polls the image of a CatalogSource in intervals"))
}

func (r *run) setError(o source, of v1alpha1.ConditionReason, message string, why reason) source {
	text := "reason removed"
	if of != "" {
		text = fmt.Sprintf("reason %s: %s", of, message)
	}
	return update(r, o, func(c *v1alpha1.CatalogSource) {
		c.Status.Reason, c.Status.Message = of, message
	}, text, why)
}

// expandTemplate sets the image of a CatalogSource from its template, and the conditions about the template.
func (r *run) expandTemplate(o source) source {
	template, ok := o.Value.Annotations[catalogsource.TemplateAnnotation]
	if !ok {
		return update(r, o, func(c *v1alpha1.CatalogSource) {
			for _, of := range catalogsource.TemplateConditions {
				meta.RemoveStatusCondition(&c.Status.Conditions, of)
			}
		}, "conditions of an image template removed", computed("there is no image template"))
	}
	v, err := version.ParseGeneric(r.opts.KubeVersion) // v is nil if there is an error
	if err != nil && catalogsource.NeedsVersion(template) {
		r.assume(fmt.Sprintf("CatalogSource %s/%s keeps spec.image: its image template needs the version of Kubernetes, "+
			"which is unknown", o.Value.Namespace, o.Value.Name))
		return o
	}
	resolved := catalogsource.ResolveImage(template, v)
	var news []string
	image := o.Value.Spec.Image
	if resolved.Resolved && image != resolved.Image {
		image = resolved.Image
		news = append(news, "image "+image)
		o.Zeros = nil // OLM writes the whole object
	}
	conditions := slices.Clone(o.Value.Status.Conditions)
	for _, c := range resolved.Conditions {
		var changed bool
		if conditions, changed = withCondition(conditions, c); changed {
			news = append(news, conditionText(c.Type, string(c.Status), c.Reason, c.Message))
		}
	}
	if len(news) == 0 {
		return o
	}
	return update(r, o, func(c *v1alpha1.CatalogSource) {
		c.Spec.Image, c.Status.Conditions = image, conditions
	}, strings.Join(news, ", "), computed("OLM expands image templates with the version of Kubernetes"))
}

// connect sets the state of the connection if it is known: OLM can read catalogs whose contents are given, and cannot
// read catalogs that are assumed to be down.
func (r *run) connect(o source) {
	state := disconnected
	switch name := o.Value.Namespace + "/" + o.Value.Name; {
	case r.request.Reads(o.Value.Namespace, o.Value.Name):
		state = connected
	case !slices.Contains(r.opts.Cluster.Down, name) && !slices.Contains(r.opts.Cluster.Down, o.Value.Name):
		return // the state is not known
	}
	address := catalogsource.Address(o.Value)
	update(r, o, func(c *v1alpha1.CatalogSource) {
		if c.Status.GRPCConnectionState == nil {
			c.Status.GRPCConnectionState = &v1alpha1.GRPCConnectionState{}
		}
		c.Status.GRPCConnectionState.Address = address
		c.Status.GRPCConnectionState.LastObservedState = state
		if c.Status.RegistryServiceStatus == nil {
			c.Status.RegistryServiceStatus = catalogsource.RegistryService(c)
		}
	}, fmt.Sprintf("connection to %s: %s", address, state), assumed("OLM connects to the catalogs that it resolves from"))
}

// configMap records the version of the ConfigMap of a CatalogSource, and makes the CatalogSource its owner. It reports
// whether OLM continues with the CatalogSource in this step.
func (r *run) configMap(o source) (source, bool) {
	c := o.Value
	name := c.Namespace + "/" + c.Spec.ConfigMap
	found, missing := r.request.ConfigMap(c)
	if missing {
		why := computed("OLM reads the ConfigMap of a CatalogSource of type " + string(c.Spec.SourceType))
		o = r.setError(o, v1alpha1.CatalogSourceConfigMapError, fmt.Sprintf(
			"failed to get catalog config map %s: configmaps %q not found", c.Spec.ConfigMap, c.Spec.ConfigMap), why)
		wait(r, o, "ConfigMap "+name, Computed)
		return o, false
	}
	if !r.request.Reads(c.Namespace, c.Name) {
		r.assume(fmt.Sprintf("CatalogSource %s/%s serves ConfigMap %s, whose contents are not read: pass them with --catalog",
			c.Namespace, c.Name, name))
	}
	if found == nil {
		return o, true
	}
	adopted := found.DeepCopyObject().(*cluster.Other)
	catalogsource.Adopt(adopted, c)
	r.put(adopted, "owned by CatalogSource "+c.Name, computed("a CatalogSource owns the ConfigMap of its catalog"))
	if of := c.Status.ConfigMapResource; of != nil && of.IsAMatch(&found.ObjectMeta) {
		return o, true
	}
	return update(r, o, func(c *v1alpha1.CatalogSource) {
		c.Status.ConfigMapResource = &v1alpha1.ConfigMapResourceReference{
			Name: found.Name, Namespace: found.Namespace, UID: found.UID, ResourceVersion: found.ResourceVersion,
		}
	}, "configMapReference "+found.Name, computed("the status has the version of the served ConfigMap")), false
}

var podKind = schema.GroupKind{Kind: "Pod"}

// servePod creates the pod of a CatalogSource and the objects that belong to it, unless the status already has the
// Service. It replaces a pod with another image or another version of the ConfigMap.
func (r *run) servePod(o source) source {
	var outdated []cluster.Object[*cluster.Other]
	isCurrent := false
	for _, p := range r.pods[keyOf(o.Value)] {
		var pod corev1.Pod
		if cluster.As(p.Value, &pod) != nil {
			continue
		}
		if catalogsource.Serves(&pod, o.Value) {
			isCurrent = true
			continue
		}
		outdated = append(outdated, p)
	}
	if o.Value.Status.RegistryServiceStatus != nil && (isCurrent || len(outdated) == 0) {
		return o
	}
	text, reading := "of another image", "the pod of a CatalogSource runs its image"
	if catalogsource.FromConfigMap(o.Value) {
		text, reading = "of another version of the ConfigMap", "the pod of a CatalogSource reads its ConfigMap once"
	}
	for _, old := range outdated {
		remove(r, old, text, computed(reading))
	}
	why := computed("a pod serves the catalog of a CatalogSource")
	for _, made := range r.podObjects(o.Value) {
		r.put(made, "for CatalogSource "+o.Value.Name, why)
	}
	service := catalogsource.RegistryService(o.Value)
	return update(r, o, func(c *v1alpha1.CatalogSource) {
		c.Status.RegistryServiceStatus = service
	}, "registryService "+service.ServiceName, why)
}

// findPods finds the pods of all CatalogSources.
func (r *run) findPods() {
	r.pods = map[types.NamespacedName][]cluster.Object[*cluster.Other]{}
	for o := range r.State.Other(podKind).All() {
		if name, ok := o.Value.Labels[catalogsource.LabelName]; ok {
			of := types.NamespacedName{Namespace: o.Value.Namespace, Name: name}
			r.pods[of] = append(r.pods[of], o)
		}
	}
}

// asKubernetes are the JSON options with which Kubernetes encodes its types.
var asKubernetes = jsonv1.DefaultOptionsV1()

// podObjects returns the objects that OLM creates to serve a catalog, in its order. In a cluster, the name of the pod
// is random.
func (r *run) podObjects(c *v1alpha1.CatalogSource) []cluster.Kubernetes {
	var namespace *corev1.Namespace
	if o, ok := r.State.Namespaces.Get("", c.Namespace); ok {
		namespace = o.Value
	}
	pod := catalogsource.Pod(c, catalogsource.Security(c, namespace))
	pod.Name = pod.GenerateName + "0"
	pod.Labels[catalogsource.LabelPodHash] = operator.Hash(&pod.Spec)
	service := catalogsource.Service(c)
	service.Labels[catalogsource.LabelServiceHash] = operator.Hash(&service.Spec)
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

// untyped converts an object of a kind without a field in State to an Other.
func untyped(o cluster.Kubernetes) cluster.Kubernetes {
	object, err := cluster.Decode([]byte(jsonText(o)))
	if err != nil {
		panic(err) // the JSON of an object can be read
	}
	return object
}
