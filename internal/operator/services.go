package operator

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Service returns a new Service in front of a Deployment, without its namespace and owner. The ports are those of
// [ServicePorts] or [ServicePortsV1].
func Service(name string, ports []corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: ports},
	}
}

// ServicePorts returns the ports of the Service in front of a Deployment: the ports of its APIServices and webhooks
// (pkg/controller/install/certresources.go).
func ServicePorts(csv *v1alpha1.ClusterServiceVersion, deployment string) []corev1.ServicePort {
	var ports []corev1.ServicePort
	add := func(of string, port corev1.ServicePort) {
		if of == deployment && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	for _, d := range csv.GetOwnedAPIServiceDescriptions() {
		add(d.DeploymentName, ServicePort(d.ContainerPort, nil))
	}
	for _, d := range csv.Spec.WebhookDefinitions {
		add(d.DeploymentName, ServicePort(d.ContainerPort, d.TargetPort))
	}
	return ports
}

// ServicePortsV1 returns the ports of the webhooks of a Deployment, sorted: OLM v1 has no APIServices
// (internal/operator-controller/rukpak/render/registryv1/generators/generators.go).
func ServicePortsV1(csv *v1alpha1.ClusterServiceVersion, deployment string) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, d := range csv.Spec.WebhookDefinitions {
		if d.DeploymentName == deployment {
			ports = append(ports, ServicePort(d.ContainerPort, d.TargetPort))
		}
	}
	slices.SortFunc(ports, func(a, b corev1.ServicePort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.TargetPort.IntValue(), b.TargetPort.IntValue()),
			cmp.Compare(a.TargetPort.String(), b.TargetPort.String()))
	})
	return slices.Compact(ports)
}

// ServicePort returns the port of a Service in front of a container that serves webhooks or an API. Port 0 means 443.
// If target is nil, the target port is the port of the Service.
func ServicePort(port int32, target *intstr.IntOrString) corev1.ServicePort {
	if port <= 0 {
		port = 443
	}
	if target == nil {
		target = new(intstr.FromInt32(port))
	}
	return corev1.ServicePort{Name: strconv.Itoa(int(port)), Port: port, TargetPort: *target}
}

// Conversion returns the conversion of resources by a webhook behind a Service, without the trusted certificate.
func Conversion(d *v1alpha1.WebhookDescription, namespace, service string) *apiextensionsv1.CustomResourceConversion {
	path := "/"
	if d.WebhookPath != nil {
		path = *d.WebhookPath
	}
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: namespace, Name: service, Path: &path, Port: &d.ContainerPort,
			}},
			ConversionReviewVersions: d.AdmissionReviewVersions,
		},
	}
}

// certificateVolumes are the volumes in which operators look for the certificate of their webhooks and APIServices.
var certificateVolumes = []struct{ name, path, certificate, key string }{
	{"webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"},
	{"apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"},
}

// volumes returns the volumes that contain a certificate, and their mounts. The files of the Secret have the names that
// operators expect.
func volumes(secret string) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
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

// MountCertificate mounts the volumes of a certificate in all containers. Unlike OLM v1, OLM Classic keeps existing
// mounts of volumes of the same names, at any path, and adds the mounts for APIServices first
// (pkg/controller/install/certresources.go).
func MountCertificate(pod *corev1.PodSpec, secret string) {
	volumes, mounts := volumes(secret)
	for i, m := range slices.Backward(mounts) {
		at := slices.IndexFunc(pod.Volumes, func(old corev1.Volume) bool { return old.Name == m.Name })
		if at < 0 {
			pod.Volumes = append(pod.Volumes, volumes[i])
		} else {
			pod.Volumes[at] = volumes[i]
		}
		for j := range pod.Containers {
			c := &pod.Containers[j]
			at := slices.IndexFunc(c.VolumeMounts, func(old corev1.VolumeMount) bool {
				return old.Name == m.Name || old.MountPath == m.MountPath
			})
			switch {
			case at < 0:
				c.VolumeMounts = append(c.VolumeMounts, m)
			case c.VolumeMounts[at].Name != m.Name:
				c.VolumeMounts[at] = m
			}
		}
	}
}

// MountCertificateV1 is MountCertificate for OLM v1: it replaces existing volumes and mounts
// (internal/operator-controller/rukpak/render/registryv1/generators/generators.go).
func MountCertificateV1(pod *corev1.PodSpec, secret string) {
	volumes, mounts := volumes(secret)
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
