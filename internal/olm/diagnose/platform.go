package diagnose

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// controllers are the Deployments of OLM, with the kind of the objects that they reconcile.
var controllers = map[string]string{
	"olm-operator": kindCSV, "catalog-operator": kindSubscription,
	"operator-controller-controller-manager": kindExtension, "catalogd-controller-manager": kindCatalog,
}

// olm finds the Deployments of OLM that are not available: nothing else is reconciled then.
func (d *diagnosis) olm() {
	for o := range d.Deployments.All() {
		kind, ok := controllers[o.Value.Name]
		if !ok || len(o.Value.Status.Conditions) == 0 || isAvailable(o.Value) {
			continue
		}
		f := add(d, ruleOLM, o, "it is not available, so OLM does not reconcile any "+kind)
		d.down[kind] = f
		for _, c := range o.Value.Status.Conditions {
			if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionFalse {
				f.since(&c.LastTransitionTime)
			}
		}
		f.blameTroubles(d.deploymentTroubles(o))
		if len(f.Help) == 0 {
			f.help("look at its pods", kubectl("describe", f.Object)...)
		}
	}
}

// apiServices finds the APIServices whose server does not answer. Kubernetes cannot delete a namespace then, since it
// does not know all of its objects. If OLM made the APIService for an operator that does not run, that is the cause.
func (d *diagnosis) apiServices() {
	for o := range d.APIServices.All() {
		for _, c := range o.Value.Status.Conditions {
			if c.Type != "Available" || c.Status == metav1.ConditionTrue || o.Value.Spec.Service == nil {
				continue
			}
			if f := d.blamed[simulate.Ref{
				Kind: kindCSV, Namespace: o.Value.Labels[operator.LabelOwnerNamespace], Name: o.Value.Labels[operator.LabelOwner],
			}]; f != nil {
				d.blame(f, simulate.RefTo(o.Value))
				continue
			}
			f := add(d, ruleAPIService, o, c.Reason+": "+c.Message).since(&c.LastTransitionTime)
			ref := simulate.Ref{Kind: kindService, Namespace: o.Value.Spec.Service.Namespace, Name: o.Value.Spec.Service.Name}
			services := d.others("", kindService)
			if _, ok := services.Get(ref.Namespace, ref.Name); !ok {
				f.help("delete the APIService if nothing serves it any longer", kubectl("delete", f.Object)...)
				break
			}
			f.help("repair the server behind its Service, or delete the APIService", kubectl("describe", ref)...)
		}
	}
}

// namespaces finds the namespaces that are deleted and do not go away.
func (d *diagnosis) namespaces() {
	for o := range d.Namespaces.All() {
		ref := simulate.RefTo(o.Value)
		if o.Value.Status.Phase != corev1.NamespaceTerminating && o.Value.DeletionTimestamp == nil {
			continue
		}
		if f := d.undiscovered(o); f != nil {
			d.blame(f, ref)
			continue
		}
		var why []string
		for _, c := range o.Value.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				why = append(why, c.Message)
			}
		}
		left := cmp.Or(strings.Join(why, "; "), "no condition says what is left")
		f := add(d, ruleNamespace, o, "it is being deleted: "+left)
		f.since(o.Value.DeletionTimestamp)
		f.help("delete what is left in it", "kubectl", "api-resources", "--verbs=list", "--namespaced", "-o", "name")
	}
}

// undiscovered returns the Finding about an APIService for which a namespace cannot be deleted, nil if there is none.
func (d *diagnosis) undiscovered(o cluster.Object[*corev1.Namespace]) *Finding {
	for _, c := range o.Value.Status.Conditions {
		known := c.Type == corev1.NamespaceDeletionDiscoveryFailure || c.Type == corev1.NamespaceDeletionGVParsingFailure
		if known && c.Status != corev1.ConditionTrue {
			return nil
		}
	}
	for _, f := range d.Findings {
		if f.Rule == ruleAPIService.Name {
			return f
		}
	}
	return nil
}

// placeOf returns the place of a namespace, the zero place if the state does not have it.
func (d *diagnosis) placeOf(namespace string) declcfg.Pos {
	o, _ := d.Namespaces.Get("", namespace)
	return o.Pos
}

// config is the API group of the configuration of OpenShift.
const config = "config.openshift.io"

// platform finds the operators that block an update of OpenShift, by the verdict of the simulation or else by the
// condition that OLM sets.
func (d *diagnosis) platform() {
	if d.simulated.OpenShift != nil {
		for _, b := range d.simulated.OpenShift.Blocked {
			f := d.addRef(rulePlatform, b.Object, b.Place, "it blocks the update of OpenShift "+d.simulated.OpenShift.Version+
				" to the next minor version: "+b.Message)
			f.help("update the operator first: opm plan shows the updates that allow it", get(b.Object)...)
		}
		return
	}
	for o := range d.others(config, "ClusterOperator").All() {
		var status struct {
			Status struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := cluster.As(o.Value, &status); err != nil {
			d.unreadable(o.Value, err)
			continue
		}
		for _, c := range status.Status.Conditions {
			if c.Type == "Upgradeable" && c.Status == metav1.ConditionFalse && c.Reason == "IncompatibleOperatorsInstalled" {
				add(d, rulePlatform, o, "it blocks the update of OpenShift: "+c.Message).since(&c.LastTransitionTime).
					help("update the operators that it names", get(simulate.RefTo(o.Value))...)
			}
		}
	}
}
