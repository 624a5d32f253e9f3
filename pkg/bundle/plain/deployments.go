package plain

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/pkg/cluster/operator"
)

// deployments adds the deployments. Their pods have the annotations of the ClusterServiceVersion, as in OLM Classic.
func (g *generator) deployments() {
	for _, d := range g.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		spec := *d.Spec.DeepCopy()
		spec.Template.Annotations = labels.Merge(g.CSV.Annotations, spec.Template.Annotations)
		spec.Template.Annotations["olm.operatorNamespace"] = g.Namespace
		spec.Template.Annotations["olm.targetNamespaces"] = g.Watch
		spec.RevisionHistoryLimit = new(int32(1))
		if g.hasWebhooks(d.Name) {
			operator.MountCertificateV1(&spec.Template.Spec, operator.SecretNameV1(d.Name))
		}
		meta := g.meta(d.Name)
		meta.Labels = d.Label
		g.add(&appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
			ObjectMeta: meta, Spec: spec,
		})
	}
}

func (g *generator) hasWebhooks(deployment string) bool {
	return slices.ContainsFunc(g.CSV.Spec.WebhookDefinitions, func(w v1alpha1.WebhookDescription) bool {
		return w.DeploymentName == deployment
	})
}
