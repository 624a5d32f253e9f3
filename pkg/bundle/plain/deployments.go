package plain

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
			mountCertificate(&spec.Template.Spec, secretName(d.Name))
		}
		meta := g.meta(d.Name)
		meta.Labels = d.Label
		g.add(&appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
			ObjectMeta: meta, Spec: spec,
		})
	}
}

// hasWebhooks reports whether a deployment serves webhooks.
func (g *generator) hasWebhooks(deployment string) bool {
	return slices.ContainsFunc(g.CSV.Spec.WebhookDefinitions, func(w v1alpha1.WebhookDescription) bool {
		return w.DeploymentName == deployment
	})
}

// certificateVolumes are where operators look for the certificate of their webhooks and API services.
var certificateVolumes = []struct{ name, path, certificate, key string }{
	{"webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"},
	{"apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"},
}

// CertificateVolumes returns the volumes that OLM adds to pods that serve webhooks or API services, and where each of
// them is mounted. They have the certificate in a Secret, as files of the names that operators expect.
func CertificateVolumes(secret string) ([]corev1.Volume, []corev1.VolumeMount) {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, v := range certificateVolumes {
		volumes = append(volumes, corev1.Volume{Name: v.name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{
				SecretName: secret,
				Items: []corev1.KeyToPath{
					{Key: corev1.TLSCertKey, Path: v.certificate}, {Key: corev1.TLSPrivateKeyKey, Path: v.key},
				},
			},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: v.name, MountPath: v.path})
	}
	return volumes, mounts
}

// mountCertificate mounts a secret where operators look for certificates, in place of the volumes that are there.
func mountCertificate(pod *corev1.PodSpec, secret string) {
	volumes, mounts := CertificateVolumes(secret)
	replaced := map[string]bool{}
	for _, added := range mounts {
		replaced[added.Name] = true
		for _, c := range pod.Containers {
			for _, m := range c.VolumeMounts {
				replaced[m.Name] = replaced[m.Name] || m.MountPath == added.MountPath
			}
		}
	}
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return replaced[v.Name] })
	pod.Volumes = append(pod.Volumes, volumes...)
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return replaced[m.Name] })
		c.VolumeMounts = append(c.VolumeMounts, mounts...)
	}
}
