package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
)

// OLM's errors about conversion webhooks that it rejects.
var (
	errConversionModes = errors.New("unable to manage conversion webhook: " +
		"CSVs with conversion webhooks must support only AllNamespaces")
	errPreserve = errors.New("crd.Spec.PreserveUnknownFields must be false " +
		"to let API Server call webhook to do the conversion")
)

// checkWebhooks returns an error if OLM rejects the webhooks of an operator.
func checkWebhooks(c *v1alpha1.ClusterServiceVersion) error {
	if errs := operator.CheckWebhooks(c); len(errs) > 0 {
		return errs[0].Err
	}
	return nil
}

// installWebhooks creates the configurations of the webhooks of an operator. In a cluster their names have a random
// suffix; here the suffix is the name of the operator. The error is about conversion webhooks, which OLM only reports
// as not ready.
func (i *installation) installWebhooks() error {
	var selector *metav1.LabelSelector
	if i.group != nil {
		selector, _ = i.group.NamespaceLabelSelector() // nil, for all, if the group has no UID yet
	}
	if selector == nil {
		selector = &metav1.LabelSelector{} // the default of the API server
	}
	namespace := i.csv.Namespace
	for _, d := range i.csv.Spec.WebhookDefinitions {
		labels, ca := operator.OwnerLabels(i.csv), i.caBundle(d.DeploymentName)
		labels[labelWebhook] = d.GenerateName
		labels["olm.webhook-description-hash"] = operator.Hash(&d)
		prefix := d.GenerateName + "-"
		meta := metav1.ObjectMeta{GenerateName: prefix, Name: prefix + namespace + "-" + i.csv.Name, Labels: labels}
		switch d.Type {
		case v1alpha1.ValidatingAdmissionWebhook:
			ensureWebhook(i, &i.State.ValidatingWebhooks, &admissionv1.ValidatingWebhookConfiguration{
				TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
				ObjectMeta: meta,
				Webhooks:   []admissionv1.ValidatingWebhook{d.GetValidatingWebhook(namespace, selector, ca)},
			}, func(c *admissionv1.ValidatingWebhookConfiguration) {
				for i := range c.Webhooks {
					w := &c.Webhooks[i]
					w.NamespaceSelector, w.ClientConfig.CABundle = selector, known(ca, w.ClientConfig.CABundle)
				}
			})
		case v1alpha1.MutatingAdmissionWebhook:
			ensureWebhook(i, &i.State.MutatingWebhooks, &admissionv1.MutatingWebhookConfiguration{
				TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
				ObjectMeta: meta,
				Webhooks:   []admissionv1.MutatingWebhook{d.GetMutatingWebhook(namespace, selector, ca)},
			}, func(c *admissionv1.MutatingWebhookConfiguration) {
				for i := range c.Webhooks {
					w := &c.Webhooks[i]
					w.NamespaceSelector, w.ClientConfig.CABundle = selector, known(ca, w.ClientConfig.CABundle)
				}
			})
		case v1alpha1.ConversionWebhook:
			if err := i.convert(&d, ca); err != nil {
				return err
			}
		}
	}
	return nil
}

// labelWebhook is the label of a configuration with the generateName of its webhook.
const labelWebhook = "olm.webhook-description-generate-name"

// ensureWebhook creates the configuration of a webhook. If the operator already has one, under any name, set updates
// its namespaces and certificate.
func ensureWebhook[P cluster.Kubernetes](i *installation, s *cluster.Store[P], config P, set func(P)) {
	found := slices.Collect(configurations(s, i.csv, config.GetLabels()[labelWebhook]))
	for _, o := range found {
		update(i.run, o, set, "as specified by "+i.csv.Name, computed("webhookdefinitions of the operator"))
	}
	if len(found) == 0 {
		create(i.run, "for "+i.csv.Name, computed("webhookdefinitions of the operator"), config)
	}
}

// known returns a certificate if it is known, else the existing one.
func known(ca, existing []byte) []byte {
	if ca == nil {
		return existing
	}
	return ca
}

// configurations yields the configurations of a webhook of an operator.
func configurations[P cluster.Kubernetes](
	s *cluster.Store[P], c *v1alpha1.ClusterServiceVersion, generateName string,
) iter.Seq[cluster.Object[P]] {
	return func(yield func(cluster.Object[P]) bool) {
		for o := range s.In("") {
			if operator.IsOwned(o.Value, c) && o.Value.GetLabels()[labelWebhook] == generateName && !yield(o) {
				return
			}
		}
	}
}

// convert sets up the conversion of CustomResourceDefinitions by a webhook. If ca is empty, their existing caBundle is
// kept.
func (i *installation) convert(d *v1alpha1.WebhookDescription, ca []byte) error {
	c := i.csv
	if err := i.checkConversion(c, d); err != nil {
		return err
	}
	for _, name := range d.ConversionCRDs {
		o, ok := i.State.CustomResourceDefinitions.Get("", name)
		if !ok {
			continue // the state has no definitions
		}
		update(i.run, o, func(crd *apiextensionsv1.CustomResourceDefinition) {
			before, to := crd.Spec.Conversion, operator.Conversion(d, c.Namespace, operator.ServiceName(d.DeploymentName))
			to.Webhook.ClientConfig.CABundle = ca
			if before != nil && before.Webhook != nil && before.Webhook.ClientConfig != nil {
				to.Webhook.ClientConfig.CABundle = known(ca, before.Webhook.ClientConfig.CABundle)
			}
			crd.Spec.Conversion = to
		}, "converted by "+c.Name, computed("webhookdefinitions of the operator"))
	}
	return nil
}

// checkConversion returns an error if OLM cannot set up a conversion webhook. The operator must support AllNamespaces,
// and no other install mode.
func (ns *installed) checkConversion(c *v1alpha1.ClusterServiceVersion, d *v1alpha1.WebhookDescription) error {
	isWrong := func(m v1alpha1.InstallMode) bool {
		return m.Supported != (m.Type == v1alpha1.InstallModeTypeAllNamespaces)
	}
	if slices.ContainsFunc(c.Spec.InstallModes, isWrong) {
		return errConversionModes
	}
	if err := operator.CheckConversionCRDs(d); err != nil {
		return err
	}
	for _, name := range d.ConversionCRDs {
		o, ok := ns.State.CustomResourceDefinitions.Get("", name)
		switch {
		case !ok && !ns.knows(kindDefinitions):
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

// failConversion fails the installation of an operator because of its conversion webhook. OLM retries forever; here the
// operator waits after the second failure.
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

// A certificate is the serving certificate of the pods of a Deployment, for webhooks and APIServices.
type certificate struct {
	secret string
	ca     []byte // the certificate of the authority that signed it; empty if unknown
}

// caHash returns the hash of the authority's certificate, "" if it is not known.
func (c *certificate) caHash() string {
	if len(c.ca) == 0 {
		return ""
	}
	sum := sha256.Sum256(c.ca)
	return hex.EncodeToString(sum[:])
}

// caBundle returns the caBundle for clients of a Deployment, nil if it is not known.
func (i *installation) caBundle(deployment string) []byte {
	if c := i.certificates[deployment]; c != nil && len(c.ca) > 0 {
		return c.ca
	}
	return nil
}

// lacksCertificate reports whether the Secret of a certificate of an operator is missing.
func (ns *installed) lacksCertificate(c *v1alpha1.ClusterServiceVersion) bool {
	strategy, err := operator.Strategy(c)
	return err == nil && slices.ContainsFunc(strategy.DeploymentSpecs, func(spec v1alpha1.StrategyDeploymentSpec) bool {
		if len(operator.ServicePorts(c, spec.Name)) == 0 {
			return false
		}
		_, ok := ns.State.Get(kindSecrets, c.Namespace, operator.SecretName(spec.Name))
		return !ok && (isRefused(c) || ns.knowsSecrets(c.Namespace))
	})
}

// createCertificate creates a Service, a Secret with a certificate, and permissions for a Deployment that serves
// webhooks or APIServices. The error is about the first object that the service account may not create.
func (i *installation) createCertificate(spec v1alpha1.StrategyDeploymentSpec) error {
	ports := operator.ServicePorts(i.csv, spec.Name)
	if len(ports) == 0 {
		return nil
	}
	service := i.service(i.csv, operator.ServiceName(spec.Name))
	for i := range ports {
		ports[i].Protocol = corev1.ProtocolTCP // the default of the API server
	}
	service.Spec.Ports = ports
	if spec.Spec.Selector != nil {
		service.Spec.Selector = spec.Spec.Selector.MatchLabels
	}
	if err := i.as.checkPermission(service, service.Namespace, applying); err != nil {
		return err
	}
	if err := admission.Invalid(service, admission.Create(service)); err != nil {
		return err
	}
	secret, ca := i.secret(i.csv, operator.SecretName(spec.Name))
	objects := []cluster.Kubernetes{untyped(service), secret}
	for _, o := range rbac.ForCertificate(i.csv, serviceAccountOf(spec), service.Name, secret.GetName()) {
		objects = append(objects, o.(cluster.Kubernetes))
	}
	for n, o := range objects {
		var verbs []string
		if n == 0 || n > 3 { // unlike the Secret, its Role and its RoleBinding
			verbs = []string{applying}
		}
		if err := i.as.checkPermission(o, o.GetNamespace(), verbs...); err != nil {
			return err
		}
		if !i.dry {
			i.put(o, "for "+i.csv.Name, computed("OLM makes the certificates of webhooks and APIServices"))
		}
	}
	i.certificates[spec.Name] = &certificate{secret.GetName(), ca}
	return nil
}

// service returns a Service with the spec of the one in the state.
func (ns *installed) service(c *v1alpha1.ClusterServiceVersion, name string) *corev1.Service {
	service := new(corev1.Service)
	if found, ok := ns.State.Get(kindServices, c.Namespace, name); ok {
		if cluster.As(found.Value, service) != nil {
			*service = corev1.Service{} // OLM cannot read it either
		}
	}
	service.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	service.Name, service.Namespace = name, c.Namespace
	service.OwnerReferences = operator.OwnedBy(c)
	service.Labels = with(service.Labels, operator.LabelManaged, "true")
	return service
}

// caKey is the key of the authority's certificate in the Secret of a certificate.
const caKey = "olmCAKey"

// secret returns the Secret of a certificate, and the certificate of the authority. An existing Secret keeps its data;
// the data of a new one are unknown.
func (ns *installed) secret(c *v1alpha1.ClusterServiceVersion, name string) (o cluster.Kubernetes, ca []byte) {
	owners := operator.OwnedBy(c)
	if found, ok := ns.State.Get(kindSecrets, c.Namespace, name); ok {
		o = found.Value.DeepCopyObject().(cluster.Kubernetes)
		o.SetOwnerReferences(owners)
		var secret corev1.Secret
		if cluster.As(o, &secret) == nil {
			ca = secret.Data[caKey]
		}
		return o, ca
	}
	return untyped(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.Namespace, OwnerReferences: owners, Labels: with(nil, operator.LabelManaged, "true"),
			Annotations: with(nil, annotationCAHash, ""),
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}, caKey: {}},
	}), nil
}
