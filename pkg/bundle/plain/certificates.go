package plain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/pkg/cluster/operator"
)

// Certificates say who makes the certificates of webhooks. Without anybody, OLM refuses bundles with webhooks.
type Certificates string

// Those that OLM v1 knows.
const (
	CertManager Certificates = "cert-manager"
	ServiceCA   Certificates = "service-ca" // of OpenShift
)

// trust makes the API server trust the certificate of a deployment.
func (g *generator) trust(meta *metav1.ObjectMeta, deployment string) {
	switch g.Certificates {
	case CertManager:
		metav1.SetMetaDataAnnotation(meta, "cert-manager.io/inject-ca-from", g.Namespace+"/"+operator.SecretNameV1(deployment))
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
