package admission

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkDisruptionBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	at, spec := field.NewPath("spec"), &b.Spec
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		// The API server prints its internal type, which has no JSON names.
		errs = append(errs, field.Invalid(at, struct {
			MinAvailable               *intstr.IntOrString
			Selector                   *metav1.LabelSelector
			MaxUnavailable             *intstr.IntOrString
			UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
		}{spec.MinAvailable, spec.Selector, spec.MaxUnavailable, spec.UnhealthyPodEvictionPolicy},
			"minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, checkShare(spec.MinAvailable, at.Child("minAvailable"))...)
	errs = append(errs, checkShare(spec.MaxUnavailable, at.Child("maxUnavailable"))...)
	errs = append(errs, unversioned.ValidateLabelSelector(
		spec.Selector, unversioned.LabelSelectorValidationOptions{}, at.Child("selector"))...)
	if p := spec.UnhealthyPodEvictionPolicy; p != nil {
		errs = append(errs, unsupported(at.Child("unhealthyPodEvictionPolicy"), *p,
			policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
	}
	return errs
}

// checkShare checks a number of pods, or the percentage of them. Nil is valid.
func checkShare(share *intstr.IntOrString, at *field.Path) field.ErrorList {
	if share == nil {
		return nil
	}
	if share.Type == intstr.Int {
		return apivalidation.ValidateNonnegativeField(int64(share.IntVal), at)
	}
	errs := invalid(at, *share, validation.IsValidPercent(share.StrVal))
	var percent int
	if _, err := fmt.Sscanf(share.StrVal, "%d%%", &percent); err == nil && percent > 100 {
		errs = append(errs, field.Invalid(at, *share, "must not be greater than 100%"))
	}
	return errs
}

// The limits of PriorityClasses of users.
const (
	systemPrefix    = "system-"
	highestPriority = 1_000_000_000
)

func checkPriorityClass(c *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if strings.HasPrefix(c.Name, systemPrefix) {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
			"priority class names with '%s' prefix are reserved for system use only. "+
				"error: %s is not a known system priority class", systemPrefix, c.Name)))
	} else if c.Value > highestPriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf(
			"maximum allowed value of a user defined priority is %d", highestPriority)))
	}
	if c.PreemptionPolicy != nil {
		errs = append(errs, unsupported(field.NewPath("preemptionPolicy"), *c.PreemptionPolicy,
			corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	return errs
}

func changedPriorityClass(c, old *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if c.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	if preemption(c) != preemption(old) {
		errs = append(errs, field.Invalid(field.NewPath("preemptionPolicy"), c.PreemptionPolicy, "field is immutable"))
	}
	return errs
}

func preemption(c *schedulingv1.PriorityClass) corev1.PreemptionPolicy {
	if c.PreemptionPolicy == nil {
		return corev1.PreemptLowerPriority
	}
	return *c.PreemptionPolicy
}

func checkNetworkPolicy(p *networkingv1.NetworkPolicy) field.ErrorList {
	at, spec := field.NewPath("spec"), &p.Spec
	errs := unversioned.ValidateLabelSelector(
		&spec.PodSelector, unversioned.LabelSelectorValidationOptions{}, at.Child("podSelector"))
	for i := range spec.Ingress {
		rule, at := &spec.Ingress[i], at.Child("ingress").Index(i)
		errs = append(errs, checkPolicyRule(rule.Ports, rule.From, at, at.Child("from"))...)
	}
	for i := range spec.Egress {
		rule, at := &spec.Egress[i], at.Child("egress").Index(i)
		errs = append(errs, checkPolicyRule(rule.Ports, rule.To, at, at.Child("to"))...)
	}
	types := at.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		return append(errs, field.Invalid(types, &spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, of := range spec.PolicyTypes {
		errs = append(errs, notIn(types.Index(i), string(of),
			string(networkingv1.PolicyTypeEgress), string(networkingv1.PolicyTypeIngress))...)
	}
	return errs
}

func checkPolicyRule(
	ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, at, peersAt *field.Path,
) field.ErrorList {
	var errs field.ErrorList
	for i := range ports {
		errs = append(errs, checkPolicyPort(&ports[i], at.Child("ports").Index(i))...)
	}
	for i := range peers {
		errs = append(errs, checkPeer(&peers[i], peersAt.Index(i))...)
	}
	return errs
}

func checkPolicyPort(p *networkingv1.NetworkPolicyPort, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Protocol != nil {
		errs = append(errs, unsupported(at.Child("protocol"), *p.Protocol, protocols...)...)
	}
	if p.Port == nil {
		if p.EndPort != nil {
			errs = append(errs, field.Required(at.Child("port"), "must be specified if `endPort` is specified"))
		}
		return errs
	}
	errs = append(errs, checkPort(*p.Port, at.Child("port"))...)
	switch {
	case p.EndPort == nil:
	case p.Port.Type == intstr.String:
		errs = append(errs, field.Invalid(at.Child("endPort"), *p.EndPort,
			"may not be specified when `port` is non-numeric"))
	default:
		if *p.EndPort < p.Port.IntVal {
			errs = append(errs, field.Invalid(at.Child("endPort"), *p.EndPort,
				"must be greater than or equal to `port`"))
		}
		errs = append(errs, invalid(at.Child("endPort"), *p.EndPort, validation.IsValidPortNum(int(*p.EndPort)))...)
	}
	return errs
}

func checkPeer(p *networkingv1.NetworkPolicyPeer, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	opts := unversioned.LabelSelectorValidationOptions{}
	if p.PodSelector != nil {
		errs = append(errs, unversioned.ValidateLabelSelector(p.PodSelector, opts, at.Child("podSelector"))...)
	}
	if p.NamespaceSelector != nil {
		errs = append(errs, unversioned.ValidateLabelSelector(p.NamespaceSelector, opts, at.Child("namespaceSelector"))...)
	}
	if p.IPBlock != nil {
		errs = append(errs, checkIPBlock(p.IPBlock, at.Child("ipBlock"))...)
	}
	switch {
	case p.PodSelector == nil && p.NamespaceSelector == nil && p.IPBlock == nil:
		errs = append(errs, field.Required(at, "must specify a peer"))
	case p.IPBlock != nil && (p.PodSelector != nil || p.NamespaceSelector != nil):
		errs = append(errs, field.Forbidden(at, "may not specify both ipBlock and another peer"))
	}
	return errs
}

func checkIPBlock(b *networkingv1.IPBlock, at *field.Path) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(at.Child("cidr"), "")}
	}
	block, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return validation.IsValidCIDR(at.Child("cidr"), b.CIDR)
	}
	var errs field.ErrorList
	for i, text := range b.Except {
		at := at.Child("except").Index(i)
		except, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			errs = append(errs, validation.IsValidCIDR(at, text)...)
		case !block.Contains(except.Addr()) || block.Bits() >= except.Bits():
			errs = append(errs, field.Invalid(at, text, "must be a strict subset of `cidr`"))
		}
	}
	return errs
}
