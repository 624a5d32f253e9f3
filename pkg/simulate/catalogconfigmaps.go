package simulate

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/catalogsource"
)

var configMapKind = schema.GroupKind{Kind: "ConfigMap"}

// configMap notes the version of the ConfigMap of a CatalogSource, and makes it the owner of it. It reports whether OLM
// goes on with the CatalogSource in this step.
func (r *run) configMap(o source) (source, bool) {
	c := o.Value
	name := c.Namespace + "/" + c.Spec.ConfigMap
	found, missing := r.findConfigMap(c)
	if missing {
		why := computed("OLM reads the ConfigMap of a CatalogSource of type " + string(c.Spec.SourceType))
		o = r.setError(o, v1alpha1.CatalogSourceConfigMapError, fmt.Sprintf(
			"failed to get catalog config map %s: configmaps %q not found", c.Spec.ConfigMap, c.Spec.ConfigMap), why)
		wait(r, o, "ConfigMap "+name, Computed)
		return o, false
	}
	if !r.question.Reads(c.Namespace, c.Name) {
		r.assume(fmt.Sprintf("CatalogSource %s/%s serves ConfigMap %s, whose contents are not read: --catalog gives them",
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
	return update(r, &r.State.CatalogSources, o, func(c *v1alpha1.CatalogSource) {
		c.Status.ConfigMapResource = &v1alpha1.ConfigMapResourceReference{
			Name: found.Name, Namespace: found.Namespace, UID: found.UID, ResourceVersion: found.ResourceVersion,
		}
	}, "configMapReference "+found.Name, computed("the status says which version of the ConfigMap is served")), false
}

// findConfigMap returns the ConfigMap of a CatalogSource, nil if it has none in the state. It is known to be missing if
// the state has others of its namespace.
func (r *run) findConfigMap(c *v1alpha1.CatalogSource) (found *cluster.Other, missing bool) {
	all := r.State.Others[configMapKind]
	if all == nil || !catalogsource.FromConfigMap(c) {
		return nil, false
	}
	if o, ok := all.Get(c.Namespace, c.Spec.ConfigMap); ok {
		return o.Value, false
	}
	for range all.In(c.Namespace) {
		return nil, true
	}
	return nil, false
}
