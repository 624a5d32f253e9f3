package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/bundle/plain"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// serviceOf returns the name of the Service that OLM creates for a Deployment.
func serviceOf(deployment string) string {
	return strings.ReplaceAll(deployment, ".", "-") + "-service"
}

// A certificate is what the pods of a Deployment get to serve webhooks and APIServices.
type certificate struct {
	secret string
	caHash string // of the authority that signed it; "" if that is not known
}

// certify creates what a Deployment needs to serve webhooks and APIServices: a Service, a Secret with the certificate,
// and permissions. It returns nil if the Deployment serves none.
func (ns *installed) certify(c *v1alpha1.ClusterServiceVersion, spec v1alpha1.StrategyDeploymentSpec) *certificate {
	ports := servicePorts(c, spec.Name)
	if len(ports) == 0 {
		return nil
	}
	service := ns.service(c, serviceOf(spec.Name))
	service.Spec.Ports = ports
	if spec.Spec.Selector != nil {
		service.Spec.Selector = spec.Spec.Selector.MatchLabels
	}
	secret, caHash := ns.secret(c, service.Name+"-cert")
	objects := []cluster.Kubernetes{untyped(service), secret}
	for _, o := range rbac.ForCertificate(c, serviceAccountOf(spec), service.Name, secret.GetName()) {
		objects = append(objects, o.(cluster.Kubernetes))
	}
	for _, o := range objects {
		ns.put(o, "for "+c.Name, computed("OLM makes the certificates of webhooks and APIServices"))
	}
	return &certificate{secret.GetName(), caHash}
}

// service returns a Service with what the state has of it.
func (ns *installed) service(c *v1alpha1.ClusterServiceVersion, name string) *corev1.Service {
	service := new(corev1.Service)
	if found, ok := ns.State.Get(schema.GroupKind{Kind: "Service"}, c.Namespace, name); ok {
		if decode(found.Value, service) != nil {
			*service = corev1.Service{} // which OLM cannot read either
		}
	}
	service.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	service.Name, service.Namespace = name, c.Namespace
	service.OwnerReferences = rbac.OwnedBy(c)
	service.Labels = with(service.Labels, labelManaged, "true")
	return service
}

// servicePorts returns the ports at which a Deployment serves APIServices and webhooks.
func servicePorts(c *v1alpha1.ClusterServiceVersion, deployment string) []corev1.ServicePort {
	var ports []corev1.ServicePort
	add := func(of string, port corev1.ServicePort) {
		if of == deployment && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	for _, d := range c.GetOwnedAPIServiceDescriptions() {
		add(d.DeploymentName, plain.ServicePort(d.ContainerPort, nil))
	}
	for _, d := range c.Spec.WebhookDefinitions {
		add(d.DeploymentName, plain.ServicePort(d.ContainerPort, d.TargetPort))
	}
	return ports
}

// caKey is where the Secret of a certificate has that of the authority.
const caKey = "olmCAKey"

// secret returns the Secret of a certificate, and the hash of its authority. What a new one contains is not known here.
// One that exists keeps its own.
func (ns *installed) secret(c *v1alpha1.ClusterServiceVersion, name string) (o cluster.Kubernetes, caHash string) {
	owners := rbac.OwnedBy(c)
	if found, ok := ns.State.Get(schema.GroupKind{Kind: "Secret"}, c.Namespace, name); ok {
		o = found.Value.DeepCopyObject().(cluster.Kubernetes)
		o.SetOwnerReferences(owners)
		var secret corev1.Secret
		if decode(o, &secret) == nil && len(secret.Data[caKey]) > 0 {
			sum := sha256.Sum256(secret.Data[caKey])
			caHash = hex.EncodeToString(sum[:])
		}
		return o, caHash
	}
	return untyped(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.Namespace, OwnerReferences: owners, Labels: with(nil, labelManaged, "true"),
			Annotations: with(nil, annotationCAHash, ""),
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}, caKey: {}},
	}), ""
}
