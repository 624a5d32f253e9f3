package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/opm-toolchain/opm/internal/operator"
)

// A health is what OLM concludes from the status of a Deployment.
type health struct {
	known    bool   // the state has the status, or an option says that the operator fails
	message  string // the reason why it is not ready; "" if it is
	timedOut bool   // OLM gives up
	minutes  int    // the time until it gives up
}

// healthOf returns the health of a Deployment of an operator. The pods of a Deployment that the simulation creates or
// changes are assumed to become ready, unless an option says that the operator fails: then they exceed their progress
// deadline. Those of an unchanged Deployment have the status that the state has; with the option, they are gone.
func (ns *installed) healthOf(c *v1alpha1.ClusterServiceVersion, d *appsv1.Deployment) health {
	fails := slices.Contains(ns.opts.Fail, c.Name)
	h := health{known: fails}
	found, ok := ns.input.Deployments.Get(d.Namespace, d.Name)
	switch {
	case ok && equality.Semantic.DeepEqual(found.Value.Spec, d.Spec) && hasHealth(found.Value):
		h = readHealth(found.Value)
		if fails && h.message == "" {
			h.message = notAvailable(d, "Deployment does not have minimum availability.")
		}
	case fails:
		h.timedOut, h.message = true, fmt.Sprintf("deployment %q exceeded its progress deadline", d.Name)
		h.minutes = progressDeadline(d)
	}
	switch {
	case h.timedOut:
		h.message = fmt.Sprintf("deployment %s not ready before timeout: %s", d.Name, h.message)
	case h.message != "":
		h.message = fmt.Sprintf("waiting for deployment %s to become ready: %s", d.Name, h.message)
	}
	return h
}

// progressDeadline returns the number of minutes, rounded up, in which the pods of a Deployment have to become ready.
func progressDeadline(d *appsv1.Deployment) int {
	if d.Spec.ProgressDeadlineSeconds == nil {
		return 10 // the default of Kubernetes
	}
	return int(*d.Spec.ProgressDeadlineSeconds+59) / 60
}

// unknownHealth returns the drift of an operator that is assumed to fail, nil for another one, because of a Deployment
// that the state does not have. The name is "" if it is not known either.
func (ns *installed) unknownHealth(c *v1alpha1.ClusterServiceVersion, name string) *drift {
	if !slices.Contains(ns.opts.Fail, c.Name) {
		return nil
	}
	name = strings.TrimSpace("deployment " + name)
	found, ok := ns.input.ClusterServiceVersions.Get(c.Namespace, c.Name)
	if ok && found.Value.Status.Phase == v1alpha1.CSVPhaseSucceeded {
		return &drift{message: "waiting for " + name + " to become ready", unready: true}
	}
	return &drift{message: name + " not ready before timeout", unready: true, timedOut: true}
}

// hasHealth reports whether a Deployment has a status that describes its current spec.
func hasHealth(d *appsv1.Deployment) bool {
	return len(d.Status.Conditions) > 0 && d.Generation <= d.Status.ObservedGeneration
}

// readHealth reads the status of a Deployment, with the messages of OLM.
func readHealth(d *appsv1.Deployment) health {
	h, status := health{known: true}, &d.Status
	available := conditionOf(d, appsv1.DeploymentAvailable)
	switch progress := conditionOf(d, appsv1.DeploymentProgressing); {
	case progress.Reason == "ProgressDeadlineExceeded":
		h.timedOut, h.message = true, fmt.Sprintf("deployment %q exceeded its progress deadline", d.Name)
	case status.UpdatedReplicas < replicasOf(d):
		h.message = fmt.Sprintf("Waiting for rollout to finish: %d out of %d new replicas have been updated...",
			status.UpdatedReplicas, replicasOf(d))
	case status.Replicas > status.UpdatedReplicas:
		h.message = fmt.Sprintf("Waiting for rollout to finish: %d old replicas are pending termination...",
			status.Replicas-status.UpdatedReplicas)
	case available.Status != corev1.ConditionTrue:
		h.message = notAvailable(d, available.Message)
	}
	return h
}

func notAvailable(d *appsv1.Deployment, why string) string {
	return fmt.Sprintf("deployment %q not available: %s", d.Name, why)
}

// conditionOf returns a condition of a Deployment, an empty one if it does not have it.
func conditionOf(d *appsv1.Deployment, of appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == of {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

func replicasOf(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// isHealthy reports whether the state shows that all Deployments of an operator are ready.
func (ns *installed) isHealthy(c *v1alpha1.ClusterServiceVersion) bool {
	strategy, err := operator.Strategy(c)
	if err != nil || len(strategy.DeploymentSpecs) == 0 {
		return false
	}
	return !slices.ContainsFunc(strategy.DeploymentSpecs, func(spec v1alpha1.StrategyDeploymentSpec) bool {
		d, ok := ns.State.Deployments.Get(c.Namespace, spec.Name)
		if !ok {
			return true
		}
		h := ns.healthOf(c, d.Value)
		return !h.known || h.message != ""
	})
}

// roll sets the status of a Deployment with changed pods. A Deployment without a status gets none: it would be a guess.
// The status of pods that fail is removed.
func (ns *installed) roll(c *v1alpha1.ClusterServiceVersion, d *appsv1.Deployment) {
	old, ok := ns.State.Deployments.Get(d.Namespace, d.Name)
	switch {
	case !ok, len(d.Status.Conditions) == 0, equality.Semantic.DeepEqual(old.Value.Spec, d.Spec):
		return
	case slices.Contains(ns.opts.Fail, c.Name):
		d.Status = appsv1.DeploymentStatus{}
		return
	}
	n, status := replicasOf(d), &d.Status
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas = n, n, n, n
	status.UnavailableReplicas = 0
	for i := range status.Conditions {
		switch c := &status.Conditions[i]; {
		case c.Type == appsv1.DeploymentAvailable && c.Status != corev1.ConditionTrue:
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, "MinimumReplicasAvailable",
				"Deployment has minimum availability."
		case c.Type == appsv1.DeploymentProgressing && c.Reason != "NewReplicaSetAvailable":
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, "NewReplicaSetAvailable",
				"ReplicaSet has successfully progressed."
		}
	}
}
