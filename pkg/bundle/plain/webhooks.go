package plain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serviceName returns the name of the service in front of a deployment.
func serviceName(deployment string) string {
	return named(strings.ReplaceAll(deployment, ".", "-"), "service")
}

// webhooks adds the configurations of admission webhooks, those that validate first.
func (g *generator) webhooks() {
	for _, kind := range []v1alpha1.WebhookAdmissionType{
		v1alpha1.ValidatingAdmissionWebhook, v1alpha1.MutatingAdmissionWebhook,
	} {
		for i := range g.CSV.Spec.WebhookDefinitions {
			switch w := &g.CSV.Spec.WebhookDefinitions[i]; {
			case w.Type != kind:
			case kind == v1alpha1.ValidatingAdmissionWebhook:
				g.validating(w)
			default:
				g.mutating(w)
			}
		}
	}
}

func (g *generator) validating(w *v1alpha1.WebhookDescription) {
	hook := w.GetValidatingWebhook(g.Namespace, g.selector(), nil)
	hook.Name, hook.ClientConfig.Service.Name = webhookName(w), serviceName(w.DeploymentName)
	g.add(&admissionv1.ValidatingWebhookConfiguration{
		TypeMeta: admission("ValidatingWebhookConfiguration"), ObjectMeta: g.webhookMeta(w),
		Webhooks: []admissionv1.ValidatingWebhook{hook},
	})
}

func (g *generator) mutating(w *v1alpha1.WebhookDescription) {
	hook := w.GetMutatingWebhook(g.Namespace, g.selector(), nil)
	hook.Name, hook.ClientConfig.Service.Name = webhookName(w), serviceName(w.DeploymentName)
	g.add(&admissionv1.MutatingWebhookConfiguration{
		TypeMeta: admission("MutatingWebhookConfiguration"), ObjectMeta: g.webhookMeta(w),
		Webhooks: []admissionv1.MutatingWebhook{hook},
	})
}

// webhookName returns the name of a webhook and of its configuration.
func webhookName(w *v1alpha1.WebhookDescription) string {
	return strings.TrimSuffix(w.GenerateName, "-")
}

func (g *generator) webhookMeta(w *v1alpha1.WebhookDescription) metav1.ObjectMeta {
	meta := g.meta(webhookName(w))
	g.trust(&meta, w.DeploymentName)
	return meta
}

func admission(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}
}

// selector returns the namespaces whose objects a webhook sees, nil for all.
func (g *generator) selector() *metav1.LabelSelector {
	if g.Watch == "" {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{g.Watch},
	}}}
}

// convert makes a webhook convert the resources of a definition.
func (g *generator) convert(crd *apiextensionsv1.CustomResourceDefinition, w *v1alpha1.WebhookDescription) {
	crd.Spec.Conversion = Conversion(w, g.Namespace, serviceName(w.DeploymentName))
	g.trust(&crd.ObjectMeta, w.DeploymentName)
}

// Conversion returns the conversion by a webhook behind a service, without the certificate that is trusted.
func Conversion(w *v1alpha1.WebhookDescription, namespace, service string) *apiextensionsv1.CustomResourceConversion {
	path := "/"
	if w.WebhookPath != nil {
		path = *w.WebhookPath
	}
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: namespace, Name: service, Path: &path, Port: &w.ContainerPort,
			}},
			ConversionReviewVersions: w.AdmissionReviewVersions,
		},
	}
}

// services adds the services in front of the deployments that serve webhooks.
func (g *generator) services() {
	for _, d := range g.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if !g.hasWebhooks(d.Name) {
			continue
		}
		var ports []corev1.ServicePort
		for i := range g.CSV.Spec.WebhookDefinitions {
			if w := &g.CSV.Spec.WebhookDefinitions[i]; w.DeploymentName == d.Name {
				ports = append(ports, ServicePort(w.ContainerPort, w.TargetPort))
			}
		}
		slices.SortFunc(ports, func(a, b corev1.ServicePort) int {
			return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.TargetPort.IntValue(), b.TargetPort.IntValue()),
				cmp.Compare(a.TargetPort.String(), b.TargetPort.String()))
		})
		meta := g.meta(serviceName(d.Name))
		if g.Certificates == ServiceCA {
			annotate(&meta, "service.beta.openshift.io/serving-cert-secret-name", secretName(d.Name))
		}
		spec := corev1.ServiceSpec{Ports: slices.Compact(ports)}
		if d.Spec.Selector != nil {
			spec.Selector = d.Spec.Selector.MatchLabels
		}
		g.add(&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta, Spec: spec})
	}
}

// ServicePort returns the port of a service in front of a container that serves webhooks or an API. The zero port is
// 443; a target that is nil is the port itself.
func ServicePort(port int32, target *intstr.IntOrString) corev1.ServicePort {
	if port <= 0 {
		port = 443
	}
	if target == nil {
		target = new(intstr.FromInt32(port))
	}
	return corev1.ServicePort{Name: strconv.Itoa(int(port)), Port: port, TargetPort: *target}
}
