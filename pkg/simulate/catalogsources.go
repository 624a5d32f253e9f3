package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/catalogsource"
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
			r.refuse(o, err)
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

// disconnectInvalid makes CatalogSources unreadable for which OLM has no client, since their spec is invalid or their
// ConfigMap is missing.
func (r *run) disconnectInvalid() {
	for o := range r.State.CatalogSources.All() {
		if _, missing := r.findConfigMap(o.Value); missing || catalogsource.Check(o.Value) != nil {
			r.question.Disconnect(o.Value.Namespace, o.Value.Name)
		}
	}
}

// refuse says that a spec is invalid.
func (r *run) refuse(o source, err error) {
	why := computed("OLM connects to no CatalogSource whose spec is invalid, and resolves nothing where it is visible")
	o = r.setError(o, v1alpha1.CatalogSourceSpecInvalidError, err.Error(), why)
	wait(r, o, "a valid spec: "+err.Error(), Computed)
}

// clearError removes what the status says about a spec that was invalid, or a ConfigMap that was missing.
func (r *run) clearError(o source) source {
	switch o.Value.Status.Reason {
	case v1alpha1.CatalogSourceSpecInvalidError:
		return r.setError(o, "", "", computed("the spec is valid"))
	case v1alpha1.CatalogSourceConfigMapError:
		return r.setError(o, "", "", computed("the ConfigMap is there"))
	}
	return o
}

// checkInterval says that the interval of polling cannot be read. OLM then polls every 15 minutes.
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
	return update(r, &r.State.CatalogSources, o, func(c *v1alpha1.CatalogSource) {
		c.Status.Reason, c.Status.Message = of, message
	}, text, why)
}

// expandTemplate sets the image of a CatalogSource to what its template means, and the conditions that say so.
func (r *run) expandTemplate(o source) source {
	template, ok := o.Value.Annotations[catalogsource.TemplateAnnotation]
	if !ok {
		return update(r, &r.State.CatalogSources, o, func(c *v1alpha1.CatalogSource) {
			for _, of := range catalogsource.TemplateConditions {
				meta.RemoveStatusCondition(&c.Status.Conditions, of)
			}
		}, "conditions of an image template removed", computed("there is no image template"))
	}
	v, ok := r.kubeVersion(template)
	if !ok {
		r.assume(fmt.Sprintf("CatalogSource %s/%s keeps spec.image: its image template needs the version of Kubernetes, "+
			"which is not known", o.Value.Namespace, o.Value.Name))
		return o
	}
	resolved := catalogsource.ResolveImage(template, v)
	var news []string
	image := o.Value.Spec.Image
	if resolved.Resolved && image != resolved.Image {
		image = resolved.Image
		news = append(news, "image "+image)
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
	return update(r, &r.State.CatalogSources, o, func(c *v1alpha1.CatalogSource) {
		c.Spec.Image, c.Status.Conditions = image, conditions
	}, strings.Join(news, ", "), computed("OLM expands image templates with the version of Kubernetes"))
}

// kubeVersion returns the version of Kubernetes for an image template, and whether that is known or not needed.
func (r *run) kubeVersion(template string) (v *version.Version, ok bool) {
	v, err := version.ParseGeneric(r.opts.KubeVersion)
	if err != nil {
		return nil, !catalogsource.NeedsVersion(template)
	}
	return v, true
}

// connect sets the state of the connection where it is known: catalogs whose contents are given can be read, and
// those that are assumed to be down cannot.
func (r *run) connect(o source) {
	state := disconnected
	switch name := o.Value.Namespace + "/" + o.Value.Name; {
	case r.question.Reads(o.Value.Namespace, o.Value.Name):
		state = connected
	case !slices.Contains(r.opts.Cluster.Down, name) && !slices.Contains(r.opts.Cluster.Down, o.Value.Name):
		return // nothing is known
	}
	address := catalogsource.Address(o.Value)
	update(r, &r.State.CatalogSources, o, func(c *v1alpha1.CatalogSource) {
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
