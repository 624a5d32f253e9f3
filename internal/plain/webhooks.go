package plain

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/internal/operator"
)

// webhooks adds the configurations of admission webhooks, validating ones first.
func (g *generator) webhooks() {
	for _, kind := range []v1alpha1.WebhookAdmissionType{
		v1alpha1.ValidatingAdmissionWebhook, v1alpha1.MutatingAdmissionWebhook,
	} {
		for i := range g.CSV.Spec.WebhookDefinitions {
			switch w := &g.CSV.Spec.WebhookDefinitions[i]; {
			case w.Type != kind:
			case kind == v1alpha1.ValidatingAdmissionWebhook:
				hook := w.GetValidatingWebhook(g.Namespace, g.selector(), nil)
				hook.Name, hook.ClientConfig.Service.Name = webhookName(w), operator.ServiceNameV1(w.DeploymentName)
				g.add(&admissionv1.ValidatingWebhookConfiguration{
					TypeMeta: admission("ValidatingWebhookConfiguration"), ObjectMeta: g.webhookMeta(w),
					Webhooks: []admissionv1.ValidatingWebhook{hook},
				})
			default:
				g.mutating(w)
			}
		}
	}
}

func (g *generator) mutating(w *v1alpha1.WebhookDescription) {
	hook := w.GetMutatingWebhook(g.Namespace, g.selector(), nil)
	hook.Name, hook.ClientConfig.Service.Name = webhookName(w), operator.ServiceNameV1(w.DeploymentName)
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
	g.injectCA(&meta, w.DeploymentName)
	return meta
}

func admission(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}
}

// selector returns the selector of the namespaces whose objects are sent to a webhook, nil for all namespaces.
func (g *generator) selector() *metav1.LabelSelector {
	if g.Watch == "" {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{g.Watch},
	}}}
}

// services adds the services in front of the deployments that serve webhooks.
func (g *generator) services() {
	for _, d := range g.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if !g.hasWebhooks(d.Name) {
			continue
		}
		meta := g.meta(operator.ServiceNameV1(d.Name))
		if g.Certificates == ServiceCA {
			const annotation = "service.beta.openshift.io/serving-cert-secret-name"
			metav1.SetMetaDataAnnotation(&meta, annotation, operator.SecretNameV1(d.Name))
		}
		spec := corev1.ServiceSpec{Ports: operator.ServicePortsV1(g.CSV, d.Name)}
		if d.Spec.Selector != nil {
			spec.Selector = d.Spec.Selector.MatchLabels
		}
		g.add(&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta, Spec: spec})
	}
}

// Certificates is the provider of the certificates of webhooks. Without a provider, OLM refuses bundles with webhooks.
type Certificates string

// The providers that OLM v1 supports.
const (
	CertManager Certificates = "cert-manager"
	ServiceCA   Certificates = "service-ca" // of OpenShift
)

// injectCA annotates an object so that the provider adds the CA bundle for the webhooks of a deployment.
func (g *generator) injectCA(meta *metav1.ObjectMeta, deployment string) {
	switch g.Certificates {
	case CertManager:
		secret := g.Namespace + "/" + operator.SecretNameV1(deployment)
		metav1.SetMetaDataAnnotation(meta, "cert-manager.io/inject-ca-from", secret)
	case ServiceCA:
		metav1.SetMetaDataAnnotation(meta, "service.beta.openshift.io/inject-cabundle", "true")
	}
}

// certificates adds the issuer and the certificate of each deployment that serves webhooks, for cert-manager.
func (g *generator) certificates() {
	if g.Certificates != CertManager {
		return
	}
	const apiVersion = "cert-manager.io/v1"
	for _, d := range g.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if !g.hasWebhooks(d.Name) {
			continue
		}
		name := operator.SecretNameV1(d.Name)
		host := operator.ServiceNameV1(d.Name) + "." + g.Namespace
		issuer := operator.WithSuffix(name, "selfsigned-issuer")
		object := func(kind, name string, spec map[string]any) {
			g.objects = append(g.objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": apiVersion, "kind": kind,
				"metadata": map[string]any{"namespace": g.Namespace, "name": name}, "spec": spec,
			}})
		}
		object("Issuer", issuer, map[string]any{"selfSigned": map[string]any{}})
		object("Certificate", name, map[string]any{
			"secretName":  name,
			"commonName":  host,
			"dnsNames":    []any{host, host + ".svc", host + ".svc.cluster.local"},
			"usages":      []any{"server auth"},
			"duration":    "17520h0m0s",
			"renewBefore": "24h0m0s",
			"issuerRef":   map[string]any{"name": issuer},
		})
	}
}
