package admission

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// protocols are the protocols of ports, in the order of messages.
var protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

func checkService(s *corev1.Service) field.ErrorList {
	spec := field.NewPath("spec")
	ports := spec.Child("ports")
	var errs field.ErrorList
	if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP != corev1.ClusterIPNone &&
		s.Spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(ports, ""))
	}
	switch s.Spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if s.Spec.ClusterIP == corev1.ClusterIPNone {
			errs = append(errs, field.Invalid(spec.Child("clusterIPs").Index(0), s.Spec.ClusterIP,
				"may not be set to 'None' for "+string(s.Spec.Type)+" services"))
		}
	case corev1.ServiceTypeExternalName:
		name := strings.TrimSuffix(s.Spec.ExternalName, ".")
		if name == "" {
			errs = append(errs, field.Required(spec.Child("externalName"), ""))
		} else {
			errs = append(errs, invalid(spec.Child("externalName"), name, validation.IsDNS1123Subdomain(name))...)
		}
	}
	names, numbers := unique[string]{}, unique[corev1.ServicePort]{}
	for i := range s.Spec.Ports {
		port, at := &s.Spec.Ports[i], ports.Index(i)
		errs = append(errs, checkServicePort(s, port, at)...)
		if port.Name != "" {
			errs = append(errs, names.add(at.Child("name"), port.Name)...)
		}
		key := corev1.ServicePort{Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), Port: port.Port}
		if numbers[key] {
			errs = append(errs, field.Duplicate(at, internalServicePort{Protocol: key.Protocol, Port: key.Port}))
		}
		numbers[key] = true
	}
	errs = append(errs, unversioned.ValidateLabels(s.Spec.Selector, spec.Child("selector"))...)
	errs = append(errs, unsupported(spec.Child("sessionAffinity"), s.Spec.SessionAffinity,
		corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)...)
	return append(errs, unsupported(spec.Child("type"), s.Spec.Type, corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
}

// An internalServicePort is the port of a Service as the API server prints it.
type internalServicePort struct {
	Name        string
	Protocol    corev1.Protocol
	AppProtocol *string
	Port        int32
	TargetPort  intstr.IntOrString
	NodePort    int32
}

func checkServicePort(s *corev1.Service, port *corev1.ServicePort, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case port.Name != "":
		errs = append(errs, invalid(at.Child("name"), port.Name, validation.IsDNS1123Label(port.Name))...)
	case len(s.Spec.Ports) > 1:
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	errs = append(errs, invalid(at.Child("port"), port.Port, validation.IsValidPortNum(int(port.Port)))...)
	errs = append(errs, unsupported(at.Child("protocol"), port.Protocol, protocols...)...)
	if port.TargetPort != (intstr.IntOrString{}) {
		errs = append(errs, checkPort(port.TargetPort, at.Child("targetPort"))...)
	}
	if isIn(s.Spec.Type, "", corev1.ServiceTypeClusterIP) && port.NodePort != 0 {
		errs = append(errs, field.Forbidden(at.Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
	}
	return errs
}

func isIn[T comparable](v T, list ...T) bool { return slices.Contains(list, v) }

// checkPort checks the number or the name of a port.
func checkPort(port intstr.IntOrString, at *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return invalid(at, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return invalid(at, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
}

// changedService checks the address of a Service. An update without an address keeps it.
func changedService(s, old *corev1.Service) field.ErrorList {
	external := corev1.ServiceTypeExternalName
	if s.Spec.Type == external || old.Spec.Type == external || s.Spec.ClusterIP == "" || old.Spec.ClusterIP == "" ||
		s.Spec.ClusterIP == old.Spec.ClusterIP {
		return nil
	}
	ips := s.Spec.ClusterIPs
	if len(ips) == 0 {
		ips = []string{s.Spec.ClusterIP}
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs").Index(0), ips, "may not change once set")}
}
