package simulate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// A drift is the first difference between the Deployments of an operator and those that it should have.
type drift struct {
	message string // as OLM has it
	missing bool   // the Deployment does not exist; otherwise it is another one
}

// maxReinstalls ends the contest of two operators for Deployments of one name, which OLM lets go on without end.
const maxReinstalls = 5

// reinstall installs an operator again whose Deployments drifted, and reports whether it does. The phase and the reason
// are those for a missing Deployment.
func (ns *installed) reinstall(
	o csv, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason,
) bool {
	d := ns.drift(o.Value)
	if d == nil {
		return false
	}
	if ns.reinstalls[keyOf(o.Value)] >= maxReinstalls {
		wait(ns.run, o, "its Deployments, for which OLM installs it again and again: "+d.message, Computed)
		return true
	}
	ns.reinstalls[keyOf(o.Value)]++
	if !d.missing {
		phase = v1alpha1.CSVPhaseInstallReady
	}
	ns.phase(o, phase, reason, "installing: "+d.message,
		computed("OLM compares the Deployments of an operator with its ClusterServiceVersion"))
	return true
}

// drift compares the Deployments of an operator with its ClusterServiceVersion, as OLM does. It returns nil if they
// agree, or if the state says too little about them.
func (ns *installed) drift(c *v1alpha1.ClusterServiceVersion) *drift {
	strategy, err := rbac.Strategy(c)
	if err != nil {
		return nil
	}
	i, err := ns.installation(c)
	if err != nil {
		return nil
	}
	i.dry, i.as.ref = true, nil // OLM reads certificates with its own permissions
	for _, spec := range strategy.DeploymentSpecs {
		o, ok := ns.State.Deployments.Get(c.Namespace, spec.Name)
		switch {
		case !ok && !ns.knowsDeployments(c):
			continue
		case !ok, !rbac.IsOwned(o.Value, c):
			return &drift{"missing deployment with name=" + spec.Name, true}
		}
		if message := i.difference(o.Value, spec); message != "" {
			return &drift{message, false}
		}
	}
	return nil
}

// knowsDeployments reports whether a Deployment of an operator that the state does not have is missing in the cluster,
// too: the state has Deployments, or service accounts, of which every namespace has one, or OLM could not create it.
func (ns *installed) knowsDeployments(c *v1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(neverInstalled, c.Status.Reason) || ns.input.Deployments.Len() > 0 ||
		hasOthers(&ns.input.ServiceAccounts)
}

// neverInstalled are the reasons for which operators fail before OLM has created all their Deployments.
var neverInstalled = []v1alpha1.ConditionReason{
	v1alpha1.CSVReasonComponentFailed, v1alpha1.CSVReasonOwnerConflict, v1alpha1.CSVReasonInvalidWebhookDescription,
}

// difference returns what differs in a Deployment: an annotation of its pods, or the hash of its spec. OLM compares
// annotations in any order.
func (i *installation) difference(d *appsv1.Deployment, spec v1alpha1.StrategyDeploymentSpec) string {
	annotations := d.Spec.Template.Annotations
	for _, key := range slices.Sorted(maps.Keys(i.csv.Annotations)) {
		want := i.csv.Annotations[key]
		if found, ok := annotations[key]; !ok {
			return "annotations on deployment does not contain expected key: " + key
		} else if found != want {
			return fmt.Sprintf("unexpected annotation on deployment. Expected %s:%s, found %s:%s", key, want, key, found)
		}
	}
	_ = i.certify(spec) // which finds certificates, and cannot fail without a service account
	wanted := d.DeepCopy()
	i.setDeployment(wanted, spec)
	before, after := d.Labels[labelDeploymentHash], wanted.Labels[labelDeploymentHash]
	switch {
	case after == "" || before == after:
		return ""
	case before == "":
		return "deployment doesn't have a spec hash, update it"
	}
	return fmt.Sprintf("deployment changed old hash=%s, new hash=%s", before, after)
}
