package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
)

type source = cluster.Object[*v1alpha1.CatalogSource]

// catalogSources finds the CatalogSources that OLM cannot read or update. The Subscriptions that resolve from them are
// affected.
func (d *diagnosis) catalogSources() {
	for o := range d.CatalogSources.All() {
		d.catalogSource(o)
	}
}

func (d *diagnosis) catalogSource(o source) {
	ref, status := simulate.RefTo(o.Value), &o.Value.Status
	state := status.GRPCConnectionState
	switch err := d.specError(o); {
	case status.Reason == v1alpha1.CatalogSourceRegistryServerError:
		d.catalogDown(o, string(status.Reason)+": "+status.Message, nil)
	case err != "":
		d.blameReaders(add(d, ruleCatalogSpec, o, err).help("correct the spec", kubectl("edit", ref)...), o)
	case state != nil && isDown(state.LastObservedState):
		message := "OLM is not connected to " + cmp.Or(state.Address, "it") + ": " + state.LastObservedState
		d.catalogDown(o, message, &state.LastConnectTime)
	case state == nil || state.LastObservedState != "READY":
		if pods := d.podTroubles(d.catalogPods(o)); len(pods) > 0 {
			d.catalogDown(o, "its pod does not run", nil)
		}
	}
	d.catalogUpdates(o)
}

// specError returns the error of OLM about the spec of a CatalogSource, "" for none.
func (d *diagnosis) specError(o source) string {
	if err := catalogsource.Check(o.Value); err != nil {
		return err.Error()
	}
	switch status := &o.Value.Status; status.Reason {
	case v1alpha1.CatalogSourceSpecInvalidError, v1alpha1.CatalogSourceConfigMapError:
		return fmt.Sprintf("%s: %s", status.Reason, status.Message)
	}
	if _, missing := d.request.ConfigMap(o.Value); missing {
		return fmt.Sprintf("ConfigMap %s/%s does not exist", o.Value.Namespace, o.Value.Spec.ConfigMap)
	}
	return ""
}

// isDown reports whether a state of a connection is one without a connection. OLM leaves IDLE when it needs the
// connection.
func isDown(state string) bool {
	return state == "TRANSIENT_FAILURE" || state == "SHUTDOWN" || state == "CONNECTING"
}

// catalogDown adds the Finding about a CatalogSource that OLM cannot read.
func (d *diagnosis) catalogDown(o source, message string, connected *metav1.Time) {
	ref := simulate.RefTo(o.Value)
	f := add(d, ruleCatalogDown, o, message).since(connected)
	pods := d.catalogPods(o)
	f.blameTroubles(d.podTroubles(pods))
	if text := remedyFor(trouble{message: message}); text != "" && len(f.Help) == 0 {
		f.help(text, get(ref)...)
	}
	if service := o.Value.Status.RegistryServiceStatus; service != nil && service.ServiceName != "" {
		namespace := cmp.Or(service.ServiceNamespace, ref.Namespace)
		services := d.others("", kindService)
		if _, ok := services.Get(namespace, service.ServiceName); !ok && services.Len() > 0 {
			f.show(Evidence{Object: simulate.Ref{Kind: kindService, Namespace: namespace, Name: service.ServiceName},
				Message: "does not exist"})
		}
	}
	if len(pods) == 0 {
		f.blameTroubles(d.eventTroubles(ref))
	}
	switch {
	case len(f.Help) > 0:
	case !catalogsource.HasPod(o.Value) && o.Value.Spec.Address != "":
		f.help("start the server at "+o.Value.Spec.Address+", or delete the CatalogSource", kubectl("delete", ref)...)
	case len(pods) == 0:
		f.help("look at the pod of the catalog", "kubectl", "get", "pods,events", "-n", ref.Namespace, "-l",
			catalogsource.LabelName+"="+ref.Name)
	default:
		f.help("delete the pod, so that OLM starts another one", "kubectl", "delete", "pod", "-n", ref.Namespace, "-l",
			catalogsource.LabelName+"="+ref.Name)
	}
	d.blameReaders(f, o)
}

// catalogPods returns the pods that serve a CatalogSource.
func (d *diagnosis) catalogPods(o source) []object {
	return d.pods[label{o.Value.Namespace, catalogsource.LabelName, o.Value.Name}]
}

// blameReaders records the Subscriptions that a broken CatalogSource affects: of the namespaces in which it is visible,
// since OLM resolves nothing there.
func (d *diagnosis) blameReaders(f *Finding, o source) {
	namespaces := []string{o.Value.Namespace}
	if o.Value.Namespace == d.request.Global() {
		namespaces = d.Subscriptions.Namespaces()
	}
	for _, namespace := range namespaces {
		if !d.request.Sees(namespace, o.Value.Namespace) {
			continue
		}
		for s := range d.Subscriptions.In(namespace) {
			d.blame(f, simulate.RefTo(s.Value))
		}
	}
}

// catalogUpdates finds the reasons why a CatalogSource keeps its old image.
func (d *diagnosis) catalogUpdates(o source) {
	spec, status := &o.Value.Spec, &o.Value.Status
	ref := simulate.RefTo(o.Value)
	if all := d.podTroubles(d.pods[label{ref.Namespace, labelUpdate, ref.Name}]); len(all) > 0 {
		add(d, ruleCatalogUpdate, o, "it keeps its old image: the pod with the new one does not run").blameTroubles(all)
	}
	if spec.UpdateStrategy == nil || spec.UpdateStrategy.RegistryPoll == nil {
		return
	}
	if strings.Contains(spec.Image, "@") {
		add(d, ruleCatalogDigest, o, "its image is polled, but named by digest: "+spec.Image+" never changes").
			help("name the image by a tag", kubectl("edit", ref)...)
	}
	if status.Reason == v1alpha1.CatalogSourceIntervalInvalidError {
		add(d, ruleCatalogPoll, o, "OLM polls every 15 minutes: "+status.Message).
			help("set a valid interval", patch(ref, `{"spec":{"updateStrategy":{"registryPoll":{"interval":"30m"}}}}`)...)
	}
}
