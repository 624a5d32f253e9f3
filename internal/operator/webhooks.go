package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A WebhookError is the reason why OLM refuses one of the webhooks of an operator.
type WebhookError struct {
	Index int    // of the webhook in spec.webhookdefinitions
	Path  string // of the value in the webhook, such as /rules/0/apiGroups
	Err   error  // in the words of OLM
	Both  bool   // of an error of OLM v1: OLM Classic does not install the operator either
}

// OLM's errors about webhooks that it rejects.
var (
	errRepeatedWebhook = errors.New("CSV contains repeated WebhookDescription name")
	errAllGroups       = errors.New("webhook rules cannot include all groups")
	errOLMGroup        = errors.New("webhook rules cannot include the OLM group")
	errWebhookGroup    = errors.New("webhook rules cannot include MutatingWebhookConfiguration or " +
		"ValidatingWebhookConfiguration resources")
	errConversionCRDs = errors.New("unable to manager conversion webhook: " + // OLM's spelling
		"conversion webhook must have at least one CRD specified")
)

// CheckWebhooks returns the reasons why OLM Classic rejects the webhooks of an operator before it installs it; it
// reports the first one (pkg/controller/install/webhook.go).
func CheckWebhooks(csv *v1alpha1.ClusterServiceVersion) (errs []WebhookError) {
	seen := map[string]bool{}
	for i := range csv.Spec.WebhookDefinitions {
		d := &csv.Spec.WebhookDefinitions[i]
		if seen[d.GenerateName] {
			errs = append(errs, WebhookError{i, "/generateName", errRepeatedWebhook, false})
		}
		seen[d.GenerateName] = true
		for j, rule := range d.Rules {
			at := fmt.Sprintf("/rules/%d", j)
			protected := []string{"*", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
			switch {
			case slices.Contains(rule.APIGroups, "*"):
				errs = append(errs, WebhookError{i, at + "/apiGroups", errAllGroups, false})
			case slices.Contains(rule.APIGroups, "operators.coreos.com"):
				errs = append(errs, WebhookError{i, at + "/apiGroups", errOLMGroup, false})
			case slices.Contains(rule.APIGroups, admissionGroup) &&
				slices.ContainsFunc(rule.Resources, func(r string) bool { return slices.Contains(protected, r) }):
				errs = append(errs, WebhookError{i, at + "/resources", errWebhookGroup, false})
			}
		}
	}
	return errs
}

// CheckConversionCRDs returns an error if a conversion webhook converts nothing, which OLM Classic refuses.
func CheckConversionCRDs(d *v1alpha1.WebhookDescription) error {
	if d.Type == v1alpha1.ConversionWebhook && len(d.ConversionCRDs) == 0 {
		return errConversionCRDs
	}
	return nil
}

const admissionGroup = "admissionregistration.k8s.io"

// CheckWebhooksV1 returns the reasons why OLM v1 refuses the webhooks of an operator, but for its install modes
// (internal/operator-controller/rukpak/render/registryv1/validators/validator.go). OLM Classic tries again and again to
// install an operator with a missing deployment or definition.
func CheckWebhooksV1(csv *v1alpha1.ClusterServiceVersion) []WebhookError {
	return slices.Concat(conversionErrorsV1(csv), webhookErrorsV1(csv), ruleErrorsV1(csv))
}

func conversionErrorsV1(csv *v1alpha1.ClusterServiceVersion) (errs []WebhookError) {
	converting := map[string][]string{} // webhooks by definition
	for _, w := range csv.Spec.WebhookDefinitions {
		if w.Type == v1alpha1.ConversionWebhook {
			for _, name := range w.ConversionCRDs {
				converting[name] = append(converting[name], w.GenerateName)
			}
		}
	}
	seen := map[string]int{}
	for i, w := range csv.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook {
			continue
		}
		for j, name := range w.ConversionCRDs {
			at := fmt.Sprintf("/conversionCRDs/%d", j)
			if seen[name]++; seen[name] == 2 { // one error about all webhooks of a definition
				errs = append(errs, WebhookError{i, at, fmt.Errorf(
					"conversion webhooks [%s] reference same custom resource definition '%s'",
					strings.Join(slices.Sorted(slices.Values(converting[name])), ","), name), false})
			}
			if !csv.OwnsCRD(name) {
				errs = append(errs, WebhookError{i, at, fmt.Errorf(
					"conversion webhook '%s' references custom resource definition '%s' not owned bundle",
					w.GenerateName, name), true})
			}
		}
	}
	return errs
}

func webhookErrorsV1(csv *v1alpha1.ClusterServiceVersion) (errs []WebhookError) {
	type identity struct {
		kind v1alpha1.WebhookAdmissionType
		name string
	}
	seen := map[identity]bool{}
	for i, w := range csv.Spec.WebhookDefinitions {
		refuse := func(path string, both bool, format string, args ...any) {
			errs = append(errs, WebhookError{i, path, fmt.Errorf(format, args...), both})
		}
		if !slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
			func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == w.DeploymentName }) {
			refuse("/deploymentName", true, "webhook of type '%s' with name '%s' references non-existent deployment '%s'",
				w.Type, w.GenerateName, w.DeploymentName)
		}
		id := identity{w.Type, w.GenerateName}
		if seen[id] {
			refuse("/generateName", false, "duplicate webhook '%s' of type '%s'", w.GenerateName, w.Type)
		}
		seen[id] = true
		if problems := validation.IsDNS1123Subdomain(w.GenerateName); len(problems) > 0 {
			isObject := w.Type != v1alpha1.ConversionWebhook // whose name Kubernetes checks
			refuse("/generateName", isObject, "webhook of type '%s' has invalid name '%s': %s", w.Type, w.GenerateName,
				strings.Join(problems, ","))
		}
	}
	return errs
}

// webhookResources are the resources for which OLM v1 accepts no webhook, because the webhook could prevent its own
// removal.
var webhookResources = []string{
	"*", "mutatingwebhookconfiguration", "mutatingwebhookconfigurations", "validatingwebhookconfiguration",
	"validatingwebhookconfigurations",
}

func ruleErrorsV1(csv *v1alpha1.ClusterServiceVersion) (errs []WebhookError) {
	for i, w := range csv.Spec.WebhookDefinitions {
		if w.Type == v1alpha1.ConversionWebhook {
			continue
		}
		for j, rule := range w.Rules {
			refuse := func(key, format string, args ...any) {
				errs = append(errs, WebhookError{i, fmt.Sprintf("/rules/%d/%s", j, key), fmt.Errorf(format, args...), false})
			}
			for _, group := range rule.APIGroups {
				if group == "*" || group == "olm.operatorframework.io" {
					refuse("apiGroups", "webhook %q contains forbidden rule: admission webhook rules cannot reference "+
						"API group %q", w.GenerateName, group)
				}
				for _, resource := range rule.Resources {
					if group == admissionGroup && slices.Contains(webhookResources, strings.ToLower(resource)) {
						refuse("resources", "webhook %q contains forbidden rule: admission webhook rules cannot reference "+
							"resource %q for API group %q", w.GenerateName, resource, group)
					}
				}
			}
		}
	}
	return errs
}
