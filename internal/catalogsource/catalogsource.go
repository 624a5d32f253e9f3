// Package catalogsource has the rules of OLM Classic for CatalogSources: the checks of the spec, the expansion of image
// templates, and the pod that serves the catalog, with its other objects.
//
//	if err := catalogsource.Check(source); err != nil {
//		return err // reason SpecInvalidError
//	}
//	pod := catalogsource.Pod(source, v1alpha1.Restricted)
package catalogsource

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/opm-toolchain/opm/internal/operator"
)

// The labels of the objects that OLM creates for a CatalogSource.
const (
	LabelName        = "olm.catalogSource"
	LabelPodHash     = "olm.pod-spec-hash"
	LabelServiceHash = "olm.service-spec-hash"

	LabelUnpackRef = "operatorframework.io/bundle-unpack-ref"
)

// Port is the port at which a pod serves its catalog.
const Port = 50051

const (
	portName = "grpc"
	apiPort  = 6443 // of the Kubernetes API server
)

// dnsPorts are the ports of name servers, on Kubernetes and on OpenShift.
var dnsPorts = []int32{53, 5353}

var errNoSource = errors.New("image and address unset: at least one must be set for sourcetype: grpc")

// Check returns OLM's error about an invalid spec, whose reason is SpecInvalidError.
func Check(source *v1alpha1.CatalogSource) error {
	spec := &source.Spec
	switch spec.SourceType {
	case v1alpha1.SourceTypeGrpc:
		if spec.Image == "" && spec.Address == "" {
			return errNoSource
		}
	case v1alpha1.SourceTypeInternal, v1alpha1.SourceTypeConfigmap:
		if spec.ConfigMap == "" {
			return fmt.Errorf("configmap name unset: must be set for sourcetype: %s", spec.SourceType)
		}
	default:
		return fmt.Errorf("unknown sourcetype: %s", spec.SourceType)
	}
	return nil
}

// HasPod reports whether OLM runs a pod for a valid CatalogSource: it has an image or a ConfigMap.
func HasPod(source *v1alpha1.CatalogSource) bool {
	return source.Spec.Image != "" || FromConfigMap(source)
}

// Address returns the address that OLM connects to.
func Address(source *v1alpha1.CatalogSource) string {
	return cmp.Or(source.Spec.Address, fmt.Sprintf("%s.%s.svc:%d", serviceName(source), source.Namespace, Port))
}

// serviceName returns the name of the Service of a pod. For a ConfigMap, OLM does not replace dots, which Kubernetes
// does not accept.
func serviceName(source *v1alpha1.CatalogSource) string {
	if FromConfigMap(source) {
		return source.Name
	}
	return strings.ReplaceAll(source.Name, ".", "-")
}

// RegistryService returns the status of a CatalogSource about the Service of its pod, without the time. A CatalogSource
// with an address has no Service.
func RegistryService(source *v1alpha1.CatalogSource) *v1alpha1.RegistryServiceStatus {
	if !HasPod(source) {
		return &v1alpha1.RegistryServiceStatus{Protocol: portName}
	}
	return &v1alpha1.RegistryServiceStatus{
		Protocol: portName, ServiceName: serviceName(source), ServiceNamespace: source.Namespace, Port: fmt.Sprint(Port),
	}
}

// Service returns the Service of the pod.
func Service(source *v1alpha1.CatalogSource) *corev1.Service {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta(source, serviceName(source)),
		Spec: corev1.ServiceSpec{
			Ports:    []corev1.ServicePort{{Name: portName, Port: Port, TargetPort: intstr.FromInt32(Port)}},
			Selector: labels(source),
		},
	}
	s.Labels = managed()
	return s
}

// ServiceAccount returns the service account of the pod, with the pull secrets of the CatalogSource.
func ServiceAccount(source *v1alpha1.CatalogSource) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta(source, source.Name),
		ImagePullSecrets: pullSecrets(source),
	}
	a.Labels = managed()
	if FromConfigMap(source) {
		a.Name, a.ImagePullSecrets = configMapAccount(source), nil
		return a
	}
	a.OwnerReferences[0].BlockOwnerDeletion, a.OwnerReferences[0].Controller = new(true), new(true)
	return a
}

func pullSecrets(source *v1alpha1.CatalogSource) []corev1.LocalObjectReference {
	var secrets []corev1.LocalObjectReference
	for _, name := range source.Spec.Secrets {
		if name != "" {
			secrets = append(secrets, corev1.LocalObjectReference{Name: name})
		}
	}
	return secrets
}

// NetworkPolicies returns the policy of the pod, which accepts gRPC calls, and the policy of the Jobs that unpack
// bundle images, which may call anything. A pod that reads a ConfigMap may call the API server.
func NetworkPolicies(source *v1alpha1.CatalogSource) []*networkingv1.NetworkPolicy {
	server := networkPolicy(source, source.Name+"-grpc-server", metav1.LabelSelector{MatchLabels: labels(source)})
	server.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{Ports: tcp(Port)}}
	if FromConfigMap(source) {
		server.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{Ports: tcp(apiPort)}}
		return []*networkingv1.NetworkPolicy{server}
	}
	unpack := networkPolicy(source, source.Name+"-unpack-bundles", metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: LabelUnpackRef, Operator: metav1.LabelSelectorOpExists},
			{Key: operator.LabelManaged, Operator: metav1.LabelSelectorOpIn, Values: []string{"true"}},
		},
	})
	var dns []networkingv1.NetworkPolicyPort
	for _, port := range dnsPorts {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			dns = append(dns, networkingv1.NetworkPolicyPort{
				Protocol: new(protocol), Port: new(intstr.FromInt32(port)),
			})
		}
	}
	unpack.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}, {Ports: dns}}
	return []*networkingv1.NetworkPolicy{server, unpack}
}

func networkPolicy(
	source *v1alpha1.CatalogSource, name string, pods metav1.LabelSelector,
) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: meta(source, name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: pods,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
	p.Labels = labels(source)
	return p
}

func tcp(port int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))}}
}

// meta returns the metadata of an object of a CatalogSource, without labels.
func meta(source *v1alpha1.CatalogSource, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: source.Namespace, OwnerReferences: []metav1.OwnerReference{owner(source)},
	}
}

func owner(source *v1alpha1.CatalogSource) metav1.OwnerReference {
	return operator.Owner(v1alpha1.CatalogSourceCRDAPIVersion, v1alpha1.CatalogSourceKind, source)
}

func managed() map[string]string { return map[string]string{operator.LabelManaged: "true"} }

// labels returns the labels of the pod, which are also its selector.
func labels(source *v1alpha1.CatalogSource) map[string]string {
	return map[string]string{LabelName: source.Name, operator.LabelManaged: "true"}
}
