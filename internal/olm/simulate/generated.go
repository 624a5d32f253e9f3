package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
)

// OLM generates objects for the APIServices and webhooks of an operator, and checks some of them while the operator
// runs and before it retries a failed one (pkg/controller/operators/olm/apiservices.go). An object that the state may
// not include is not missing.

var (
	kindServices = schema.GroupKind{Kind: "Service"}
	kindSecrets  = schema.GroupKind{Kind: "Secret"}
)

// calculatedBad is OLM's message about Deployments whose certificate it does not find.
const calculatedBad = "calculated deployment install is bad"

// generated is the reason of changes because of missing generated objects.
var generated = computed("OLM looks for the objects that it generates for APIServices and webhooks")

// apiServiceIssue returns OLM's error about the objects generated for the APIServices of an operator, nil if there is
// none.
func (ns *installed) apiServiceIssue(c *v1alpha1.ClusterServiceVersion) error {
	var errs []error
	for _, d := range c.GetOwnedAPIServiceDescriptions() {
		errs = append(errs, ns.checkGenerated(c, d)...)
	}
	return utilerrors.NewAggregate(errs)
}

// checkGenerated returns the errors about the objects of one APIService. OLM stops at the first one before the
// permissions.
func (ns *installed) checkGenerated(c *v1alpha1.ClusterServiceVersion, d v1alpha1.APIServiceDescription) []error {
	found, ok := ns.State.APIServices.Get("", d.GetName())
	if !ok {
		resource := schema.GroupResource{Group: kindAPIServices.Group, Resource: "apiservice"}
		return missing(ns.knows(kindAPIServices), resource, d.GetName())
	}
	name, secretName := operator.ServiceName(d.DeploymentName), operator.SecretName(d.DeploymentName)
	if _, ok := ns.State.Get(kindServices, c.Namespace, name); !ok {
		if errs := missing(ns.knowsServices(), corev1.Resource("service"), name); errs != nil {
			return errs
		}
	}
	if of := found.Value.Spec.Service; of != nil && (of.Name != name || of.Namespace != c.Namespace) {
		return []error{errors.New("found APIService and service reference mismatch")}
	}
	secret, ok := ns.State.Get(kindSecrets, c.Namespace, secretName)
	if !ok {
		if errs := missing(ns.knowsSecrets(c.Namespace), corev1.Resource("secret"), secretName); errs != nil {
			return errs
		}
	}
	hash := (&certificate{ca: found.Value.Spec.CABundle}).caHash()
	if ok && differs(secret.Value.GetAnnotations()[annotationCAHash], hash) {
		return []error{fmt.Errorf("secret %s CA cert hash does not match expected", secretName)}
	}
	deployment, ok := ns.State.Deployments.Get(c.Namespace, d.DeploymentName)
	switch {
	case !ok:
		return missing(ns.knowsDeployments(c), appsv1.Resource("deployment"), d.DeploymentName)
	case differs(deployment.Value.Spec.Template.Annotations[annotationCAHash], hash):
		return []error{fmt.Errorf("deployment %s CA cert hash does not match expected", d.DeploymentName)}
	}
	return ns.missingPermissions(c, deployment.Value, name, secretName)
}

// differs reports whether the hash of a certificate authority is not the expected one. An empty one is not known.
func differs(found, want string) bool { return found != "" && want != "" && found != want }

// missingPermissions returns the errors about the service account of a Deployment and its permissions.
func (ns *installed) missingPermissions(
	c *v1alpha1.ClusterServiceVersion, d *appsv1.Deployment, service, secret string,
) (errs []error) {
	account := d.Spec.Template.Spec.ServiceAccountName
	if account != "" && account != operator.DefaultAccount {
		if _, ok := ns.State.ServiceAccounts.Get(c.Namespace, account); !ok {
			errs = append(errs, missing(ns.knows(kindAccounts), corev1.Resource("serviceaccounts"), account)...)
		}
	}
	for _, o := range rbac.ForCertificate(c, account, service, secret) {
		of := cluster.KindOf(o.(cluster.Kubernetes))
		if _, ok := ns.State.Get(of, o.GetNamespace(), o.GetName()); !ok {
			resource := rbacv1.Resource(strings.ToLower(of.Kind))
			errs = append(errs, missing(ns.knowsIn(of, o.GetNamespace()), resource, o.GetName())...)
		}
	}
	return errs
}

// missing returns the error about an object that is missing from the cluster, and nil if that is not known.
func missing(known bool, of schema.GroupResource, name string) []error {
	if !known {
		return nil
	}
	return []error{apierrors.NewNotFound(of, name)}
}

// isFile reports whether the state does not say which kinds of objects it has: it was not read from a live cluster.
func (r *run) isFile() bool { return r.input.Infos.Len() == 0 }

// knowsServices reports whether the state has all Services: it says so, or it has one that OLM did not create.
func (r *run) knowsServices() bool {
	return r.input.Has(kindServices) || r.isFile() && r.knows(kindServices)
}

// knowsSecrets reports whether the state has all Secrets of a namespace: it says so, or it has one there that no
// simulation created. Those have an empty hash.
func (r *run) knowsSecrets(namespace string) bool {
	if r.isFile() {
		for o := range r.input.In(kindSecrets, namespace) {
			if hash, ok := o.Value.GetAnnotations()[annotationCAHash]; hash != "" || !ok {
				return true
			}
		}
	}
	return r.input.Has(kindSecrets)
}

// knowsIn reports whether the state has all objects of a kind in a namespace: it says so, or it has one there that OLM
// did not create.
func (r *run) knowsIn(of schema.GroupKind, namespace string) bool {
	return r.input.Has(of) || r.isFile() && hasForeign(r.input.In(of, namespace))
}

// lacksAuthority reports whether OLM does not find the certificate authority of an APIService or webhook of an
// operator, so that it cannot calculate the expected Deployments.
func (ns *installed) lacksAuthority(c *v1alpha1.ClusterServiceVersion) bool {
	for _, d := range c.GetOwnedAPIServiceDescriptions() {
		_, ok := ns.State.APIServices.Get("", d.GetName())
		if !ok && ns.knows(kindAPIServices) {
			return true
		}
	}
	return ns.unservedWebhook(c) != "" || slices.ContainsFunc(c.Spec.WebhookDefinitions,
		func(d v1alpha1.WebhookDescription) bool { return !ns.hasWebhook(c, &d) })
}

// unservedWebhook returns the name of the first webhook of an operator without a Deployment that serves it, "" if there
// is none.
func (ns *installed) unservedWebhook(c *v1alpha1.ClusterServiceVersion) string {
	strategy := &c.Spec.InstallStrategy.StrategySpec
	for _, d := range c.Spec.WebhookDefinitions {
		if !slices.ContainsFunc(strategy.DeploymentSpecs, func(spec v1alpha1.StrategyDeploymentSpec) bool {
			return spec.Name == d.DeploymentName
		}) {
			return d.GenerateName
		}
	}
	return ""
}

// A webhook identifies the configuration of an admission webhook of an operator.
type webhook struct {
	kind             v1alpha1.WebhookAdmissionType
	namespace, owner string
	generateName     string
}

// webhooks returns the admission webhooks that have a configuration.
func (r *run) webhooks() map[webhook]bool {
	all := map[webhook]bool{}
	addConfigured(all, v1alpha1.ValidatingAdmissionWebhook, &r.State.ValidatingWebhooks)
	addConfigured(all, v1alpha1.MutatingAdmissionWebhook, &r.State.MutatingWebhooks)
	return all
}

func addConfigured[P cluster.Kubernetes](
	all map[webhook]bool, kind v1alpha1.WebhookAdmissionType, s *cluster.Store[P],
) {
	for o := range s.All() {
		labels := o.Value.GetLabels()
		if labels[operator.LabelOwnerKind] == v1alpha1.ClusterServiceVersionKind {
			all[webhook{
				kind, labels[operator.LabelOwnerNamespace], labels[operator.LabelOwner], labels[labelWebhook],
			}] = true
		}
	}
}

// hasWebhook reports whether the configuration of a webhook exists, or may exist.
func (ns *installed) hasWebhook(c *v1alpha1.ClusterServiceVersion, d *v1alpha1.WebhookDescription) bool {
	if ns.configured()[webhook{d.Type, c.Namespace, c.Name, d.GenerateName}] {
		return true
	}
	kind := schema.GroupKind{
		Group: admissionv1.GroupName, Kind: strings.TrimSuffix(string(d.Type), "AdmissionWebhook") + "WebhookConfiguration",
	}
	switch d.Type {
	case v1alpha1.ValidatingAdmissionWebhook, v1alpha1.MutatingAdmissionWebhook:
		return !isRefused(c) && !ns.knowsClustered() && !ns.knows(kind)
	}
	return slices.ContainsFunc(d.ConversionCRDs, func(name string) bool {
		o, ok := ns.State.CustomResourceDefinitions.Get("", name)
		if !ok {
			return !ns.knows(kindDefinitions)
		}
		return o.Value.Spec.Conversion != nil && o.Value.Spec.Conversion.Webhook != nil
	})
}

// knowsClustered reports whether the state is a file with all objects without a namespace: it has an APIService and a
// ClusterRole of Kubernetes itself. APIServices alone are often saved without the configurations of webhooks.
func (r *run) knowsClustered() bool {
	_, services := r.input.APIServices.Get("", "v1.")
	_, roles := r.input.ClusterRoles.Get("", "cluster-admin")
	return r.isFile() && services && roles
}
