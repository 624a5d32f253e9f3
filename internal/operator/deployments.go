package operator

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deployment returns a new Deployment of an operator, without the fields that depend on the cluster: its namespace and
// owner, the configuration of the Subscription, the annotations of the ClusterServiceVersion. The certificate of its
// webhooks and APIServices is mounted.
func Deployment(csv *v1alpha1.ClusterServiceVersion, spec *v1alpha1.StrategyDeploymentSpec) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Labels: spec.Label}, Spec: *spec.Spec.DeepCopy(),
	}
	if len(ServicePorts(csv, spec.Name)) > 0 {
		MountCertificate(&d.Spec.Template.Spec, SecretName(spec.Name))
	}
	return d
}
