package manifests

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/k8sname"
)

const (
	httpPortName    = "http"
	defaultHTTPPort = 8080 // of a chart whose set serves no HTTP
)

// checkHTTP checks the options that need HTTP, and the namespaces of the clients.
func (o *Options) checkHTTP() error {
	switch {
	case o.HTTPPort < 0 || o.HTTPPort > 65535:
		return fmt.Errorf("HTTP port %d: want 1 to 65535", o.HTTPPort)
	case o.HTTPPort == catalogsource.Port:
		return fmt.Errorf("HTTP port %d: gRPC has this port", o.HTTPPort)
	case o.HTTPPort == 0 && o.HTTPProbes:
		return errors.New("probes over HTTP need an HTTP port")
	case o.HTTPPort == 0 && o.ServiceMonitor:
		return errors.New("a ServiceMonitor needs an HTTP port, which has the metrics")
	}
	for _, namespace := range o.AllowFrom {
		if err := k8sname.Label(namespace); err != nil {
			return fmt.Errorf("allowed namespace %q: %w", namespace, err)
		}
	}
	return nil
}

// args returns the arguments of opm, or nil to keep the arguments of the image. If the image was built without HTTP,
// opm exits with an error that says so.
func (o *Options) args() []string {
	if o.HTTPPort == 0 {
		return nil
	}
	return []string{
		"serve", catalogDir, "--cache-dir=" + cacheDir, "--cache-enforce-integrity",
		fmt.Sprintf("--http-addr=:%d", o.HTTPPort),
	}
}

func (o *Options) containerPorts() []corev1.ContainerPort {
	ports := []corev1.ContainerPort{{Name: portName, ContainerPort: catalogsource.Port, Protocol: corev1.ProtocolTCP}}
	if o.HTTPPort != 0 {
		ports = append(ports, corev1.ContainerPort{
			Name: httpPortName, ContainerPort: o.HTTPPort, Protocol: corev1.ProtocolTCP,
		})
	}
	return ports
}

func (o *Options) servicePorts() []corev1.ServicePort {
	ports := []corev1.ServicePort{{
		Name: portName, Port: catalogsource.Port, TargetPort: intstr.FromString(portName), Protocol: corev1.ProtocolTCP,
		AppProtocol: new("kubernetes.io/h2c"),
	}}
	if o.HTTPPort != 0 {
		ports = append(ports, corev1.ServicePort{
			Name: httpPortName, Port: o.HTTPPort, TargetPort: intstr.FromString(httpPortName), Protocol: corev1.ProtocolTCP,
			AppProtocol: new("http"),
		})
	}
	return ports
}

// probe returns a gRPC probe or, with HTTPProbes, an HTTP probe of path.
func (o *Options) probe(path string, period, failures int32) *corev1.Probe {
	handler := corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: catalogsource.Port, Service: new("")}}
	if o.HTTPProbes {
		handler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(httpPortName)}}
	}
	return &corev1.Probe{ProbeHandler: handler, PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures}
}

// ingress allows the clients to connect to all ports, from any namespace if AllowFrom is empty.
func (o *Options) ingress() networkingv1.NetworkPolicyIngressRule {
	var rule networkingv1.NetworkPolicyIngressRule
	for _, port := range o.containerPorts() {
		rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{
			Protocol: new(port.Protocol), Port: new(intstr.FromInt32(port.ContainerPort)),
		})
	}
	for _, namespace := range o.AllowFrom {
		labels := map[string]string{corev1.LabelMetadataName: namespace}
		rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: labels},
		})
	}
	return rule
}

// serviceMonitor returns a ServiceMonitor of the Prometheus operator: Prometheus scrapes the port on each pod.
func (o *Options) serviceMonitor() tree {
	return tree{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": o.labelled(),
		"spec": tree{
			"selector": o.selector(), "endpoints": []tree{{"port": httpPortName, "path": "/metrics"}},
		},
	}
}
