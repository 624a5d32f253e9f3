package simulate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/bundle/plain"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// What OLM says of webhooks that it does not install.
var (
	errRepeatedWebhook = errors.New("CSV contains repeated WebhookDescription name")
	errAllGroups       = errors.New("webhook rules cannot include all groups")
	errOLMGroup        = errors.New("webhook rules cannot include the OLM group")
	errWebhookGroup    = errors.New("webhook rules cannot include MutatingWebhookConfiguration or " +
		"ValidatingWebhookConfiguration resources")
	errConversionModes = errors.New("unable to manage conversion webhook: " +
		"CSVs with conversion webhooks must support only AllNamespaces")
	errConversionCRDs = errors.New("unable to manager conversion webhook: " +
		"conversion webhook must have at least one CRD specified")
	errPreserve = errors.New("crd.Spec.PreserveUnknownFields must be false " +
		"to let API Server call webhook to do the conversion")
)

// checkWebhooks returns what OLM does not allow of the webhooks of an operator.
func checkWebhooks(c *v1alpha1.ClusterServiceVersion) error {
	seen := map[string]bool{}
	for _, d := range c.Spec.WebhookDefinitions {
		if seen[d.GenerateName] {
			return errRepeatedWebhook
		}
		seen[d.GenerateName] = true
		for _, rule := range d.Rules {
			if err := checkWebhookRule(rule.Rule); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkWebhookRule(rule admissionv1.Rule) error {
	protected := []string{"*", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
	switch {
	case slices.Contains(rule.APIGroups, "*"):
		return errAllGroups
	case slices.Contains(rule.APIGroups, "operators.coreos.com"):
		return errOLMGroup
	case slices.Contains(rule.APIGroups, "admissionregistration.k8s.io") &&
		slices.ContainsFunc(rule.Resources, func(r string) bool { return slices.Contains(protected, r) }):
		return errWebhookGroup
	}
	return nil
}

// installWebhooks creates the configurations of the webhooks of an operator. The error is about conversion webhooks, of
// which OLM only says that they are not ready.
func (i *installation) installWebhooks() error {
	var selector *metav1.LabelSelector
	if i.group != nil {
		selector, _ = i.group.NamespaceLabelSelector() // nil, for all, if the group has no UID yet
	}
	namespace := i.csv.Namespace
	for _, d := range i.csv.Spec.WebhookDefinitions {
		meta, ca := webhookMeta(i.csv, &d), i.authority(d.DeploymentName)
		switch d.Type {
		case v1alpha1.ValidatingAdmissionWebhook:
			ensureWebhook(i, &i.State.ValidatingWebhooks, &admissionv1.ValidatingWebhookConfiguration{
				TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
				ObjectMeta: meta,
				Webhooks:   []admissionv1.ValidatingWebhook{d.GetValidatingWebhook(namespace, selector, ca)},
			})
		case v1alpha1.MutatingAdmissionWebhook:
			ensureWebhook(i, &i.State.MutatingWebhooks, &admissionv1.MutatingWebhookConfiguration{
				TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
				ObjectMeta: meta,
				Webhooks:   []admissionv1.MutatingWebhook{d.GetMutatingWebhook(namespace, selector, ca)},
			})
		case v1alpha1.ConversionWebhook:
			if err := i.convert(&d, ca); err != nil {
				return err
			}
		}
	}
	return nil
}

// labelWebhook has the generateName of the webhook of a configuration.
const labelWebhook = "olm.webhook-description-generate-name"

// ensureWebhook creates the configuration of a webhook unless the operator has one: in a cluster its name is random.
func ensureWebhook[P cluster.Kubernetes](i *installation, s *cluster.Store[P], config P) {
	for o := range s.In("") {
		if rbac.IsOwned(o.Value, i.csv) && o.Value.GetLabels()[labelWebhook] == config.GetLabels()[labelWebhook] {
			return
		}
	}
	ensure(i.run, s, config, "for "+i.csv.Name, computed("webhookdefinitions of the operator"))
}

// webhookMeta returns the name and labels of the configuration of a webhook. In a cluster the name ends randomly;
// here it ends in the name of the operator.
func webhookMeta(c *v1alpha1.ClusterServiceVersion, d *v1alpha1.WebhookDescription) metav1.ObjectMeta {
	prefix := d.GenerateName + "-"
	labels := rbac.OwnerLabels(c)
	labels[labelWebhook] = d.GenerateName
	labels["olm.webhook-description-hash"] = rbac.Hash(d)
	return metav1.ObjectMeta{GenerateName: prefix, Name: prefix + c.Namespace + "-" + c.Name, Labels: labels}
}

// convert sets up the conversion of CustomResourceDefinitions by a webhook. Without a ca, the one they trust stays.
func (i *installation) convert(d *v1alpha1.WebhookDescription, ca []byte) error {
	c := i.csv
	if err := i.checkConversion(c, d); err != nil {
		return err
	}
	for _, name := range d.ConversionCRDs {
		o, _ := i.State.CustomResourceDefinitions.Get("", name)
		update(i.run, &i.State.CustomResourceDefinitions, o, func(crd *apiextensionsv1.CustomResourceDefinition) {
			before, to := crd.Spec.Conversion, plain.Conversion(d, c.Namespace, serviceOf(d.DeploymentName))
			to.Webhook.ClientConfig.CABundle = ca
			if ca == nil && before != nil && before.Webhook != nil && before.Webhook.ClientConfig != nil {
				to.Webhook.ClientConfig.CABundle = before.Webhook.ClientConfig.CABundle
			}
			crd.Spec.Conversion = to
		}, "converted by "+c.Name, computed("webhookdefinitions of the operator"))
	}
	return nil
}

// checkConversion returns why OLM cannot set up a conversion webhook.
func (ns *installed) checkConversion(c *v1alpha1.ClusterServiceVersion, d *v1alpha1.WebhookDescription) error {
	switch {
	case !onlyAllNamespaces(c):
		return errConversionModes
	case len(d.ConversionCRDs) == 0:
		return errConversionCRDs
	}
	for _, name := range d.ConversionCRDs {
		o, ok := ns.State.CustomResourceDefinitions.Get("", name)
		switch {
		case !ok:
			return fmt.Errorf("unable to get CRD %s specified in Conversion Webhook: not found", name)
		case !c.OwnsCRD(name):
			return fmt.Errorf("csv %s does not own CRD %s", c.Name, name)
		case o.Value.Spec.PreserveUnknownFields:
			return errPreserve
		}
	}
	return nil
}

// conversionError returns why OLM cannot set up the conversion webhooks of an operator.
func (ns *installed) conversionError(c *v1alpha1.ClusterServiceVersion) error {
	for _, d := range c.Spec.WebhookDefinitions {
		if d.Type == v1alpha1.ConversionWebhook {
			if err := ns.checkConversion(c, &d); err != nil {
				return err
			}
		}
	}
	return nil
}

// failConversion lets the installation of an operator fail for its conversion webhook. OLM installs it again and fails
// again, without end; here it waits the second time.
func (ns *installed) failConversion(o csv, err error) {
	message := installFailed + err.Error()
	if slices.ContainsFunc(o.Value.Status.Conditions, func(c v1alpha1.ClusterServiceVersionCondition) bool {
		return c.Phase == v1alpha1.CSVPhaseFailed && c.Message == message
	}) {
		wait(ns.run, o, "its conversion webhook, for which OLM installs it again and again: "+err.Error(), Computed)
		return
	}
	ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonComponentFailed, message,
		computed("OLM cannot set up a conversion webhook"))
}

// onlyAllNamespaces reports whether an operator supports AllNamespaces and nothing else.
func onlyAllNamespaces(c *v1alpha1.ClusterServiceVersion) bool {
	return !slices.ContainsFunc(c.Spec.InstallModes, func(m v1alpha1.InstallMode) bool {
		return m.Supported != (m.Type == v1alpha1.InstallModeTypeAllNamespaces)
	})
}
