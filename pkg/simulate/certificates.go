package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	ca     []byte // the certificate of the authority that signed it; empty if that is not known
}

// caHash returns the hash of the authority, "" if that is not known.
func (c *certificate) caHash() string {
	if len(c.ca) == 0 {
		return ""
	}
	sum := sha256.Sum256(c.ca)
	return hex.EncodeToString(sum[:])
}

// authority returns what clients of a Deployment trust, nil if that is not known.
func (i *installation) authority(deployment string) []byte {
	if c := i.certificates[deployment]; c != nil && len(c.ca) > 0 {
		return c.ca
	}
	return nil
}

// certify creates what a Deployment needs to serve webhooks and APIServices, if it serves any: a Service, a Secret with
// the certificate, and permissions. The error is about what the service account may not create.
func (i *installation) certify(spec v1alpha1.StrategyDeploymentSpec) error {
	ports := servicePorts(i.csv, spec.Name)
	if len(ports) == 0 {
		return nil
	}
	service := i.service(i.csv, serviceOf(spec.Name))
	for i := range ports {
		ports[i].Protocol = corev1.ProtocolTCP // the default of the API server
	}
	service.Spec.Ports = ports
	if spec.Spec.Selector != nil {
		service.Spec.Selector = spec.Spec.Selector.MatchLabels
	}
	if err := i.as.permit(service, service.Namespace); err != nil {
		return fmt.Errorf("could not create service %s: %w", service.Name, err)
	}
	secret, ca := i.secret(i.csv, service.Name+"-cert")
	objects := []cluster.Kubernetes{untyped(service), secret}
	for _, o := range rbac.ForCertificate(i.csv, serviceAccountOf(spec), service.Name, secret.GetName()) {
		objects = append(objects, o.(cluster.Kubernetes))
	}
	for _, o := range objects {
		if err := i.as.permit(o, o.GetNamespace()); err != nil {
			return err
		}
		if !i.dry {
			i.put(o, "for "+i.csv.Name, computed("OLM makes the certificates of webhooks and APIServices"))
		}
	}
	i.certificates[spec.Name] = &certificate{secret.GetName(), ca}
	return nil
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

// secret returns the Secret of a certificate, and its authority. What a new one contains is not known here. One that
// exists keeps its own.
func (ns *installed) secret(c *v1alpha1.ClusterServiceVersion, name string) (o cluster.Kubernetes, ca []byte) {
	owners := rbac.OwnedBy(c)
	if found, ok := ns.State.Get(schema.GroupKind{Kind: "Secret"}, c.Namespace, name); ok {
		o = found.Value.DeepCopyObject().(cluster.Kubernetes)
		o.SetOwnerReferences(owners)
		var secret corev1.Secret
		if decode(o, &secret) == nil {
			ca = secret.Data[caKey]
		}
		return o, ca
	}
	return untyped(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.Namespace, OwnerReferences: owners, Labels: with(nil, labelManaged, "true"),
			Annotations: with(nil, annotationCAHash, ""),
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}, caKey: {}},
	}), nil
}
