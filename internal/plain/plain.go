// Package plain converts a bundle of type registry+v1 to the manifests that OLM v1 applies for a ClusterExtension.
//
//	contents, err := bundle.ReadContents(os.DirFS("oak/1.0.0"), "oak/1.0.0", bundle.Options{})
//	if err != nil {
//		return err
//	}
//	objects, err := plain.Objects(contents, plain.Options{Namespace: "oak-system"})
//
// The names and order of the objects, and the reasons for refusing a bundle, are the same as in operator-controller.
// Objects that operator-controller returns in a random order, such as service accounts, are sorted by name.
package plain

import (
	"errors"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

// Options are the options of a ClusterExtension, and of OLM.
type Options struct {
	// Namespace is the namespace that the operator is installed in. It is required.
	Namespace string

	// Watch is the namespace that the operator watches, which may be its own; "" means all namespaces. OLM v1 allows a
	// namespace only if its feature SingleOwnNamespaceInstallSupport is enabled.
	Watch string

	Certificates Certificates // of webhooks
}

// Objects returns the objects in the order in which they are applied. The error joins a [*declcfg.Error] for each
// reason for which OLM v1 refuses the bundle or the options, in its words.
func Objects(c *bundle.Contents, opts Options) ([]*unstructured.Unstructured, error) {
	if err := check(c, opts); err != nil {
		return nil, err
	}
	g := &generator{Contents: c, Options: opts}
	for _, generate := range []func(){
		g.serviceAccounts, g.roles, g.clusterRoles, g.definitions, g.others, g.deployments, g.webhooks, g.services,
		g.certificates,
	} {
		generate()
	}
	return g.objects, errors.Join(g.errs...)
}

type generator struct {
	*bundle.Contents
	Options
	objects []*unstructured.Unstructured
	errs    []error
}

// add adds an object of Kubernetes, without the fields that only a cluster sets.
func (g *generator) add(object runtime.Object) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		g.errs = append(g.errs, err)
		return
	}
	u := &unstructured.Unstructured{Object: tree}
	delete(tree, "status")
	unstructured.RemoveNestedField(tree, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(tree, "spec", "template", "metadata", "creationTimestamp")
	g.objects = append(g.objects, u)
}

func (g *generator) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: g.Namespace, Name: name}
}

// definitions adds the CustomResourceDefinitions, with the webhooks that convert their resources.
func (g *generator) definitions() {
	for _, crd := range g.CRDs {
		crd = crd.DeepCopy()
		for i := range g.CSV.Spec.WebhookDefinitions {
			w := &g.CSV.Spec.WebhookDefinitions[i]
			if w.Type == v1alpha1.ConversionWebhook && slices.Contains(w.ConversionCRDs, crd.Name) {
				crd.Spec.Conversion = operator.Conversion(w, g.Namespace, operator.ServiceNameV1(w.DeploymentName))
				g.injectCA(&crd.ObjectMeta, w.DeploymentName)
			}
		}
		g.add(crd)
	}
}

func (g *generator) others() {
	for _, o := range g.Others {
		o = o.DeepCopy()
		if namespaced, _ := bundle.Installable(o.GetKind()); namespaced {
			o.SetNamespace(g.Namespace)
		}
		g.objects = append(g.objects, o)
	}
}

// deployments adds the deployments. Their pods have the annotations of the ClusterServiceVersion, as in OLM Classic.
func (g *generator) deployments() {
	for _, d := range g.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		spec := *d.Spec.DeepCopy()
		spec.Template.Annotations = labels.Merge(g.CSV.Annotations, spec.Template.Annotations)
		spec.Template.Annotations["olm.operatorNamespace"] = g.Namespace
		spec.Template.Annotations["olm.targetNamespaces"] = g.Watch
		spec.RevisionHistoryLimit = new(int32(1))
		if g.hasWebhooks(d.Name) {
			operator.MountCertificateV1(&spec.Template.Spec, operator.SecretNameV1(d.Name))
		}
		meta := g.meta(d.Name)
		meta.Labels = d.Label
		g.add(&appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
			ObjectMeta: meta, Spec: spec,
		})
	}
}

func (g *generator) hasWebhooks(deployment string) bool {
	return slices.ContainsFunc(g.CSV.Spec.WebhookDefinitions, func(w v1alpha1.WebhookDescription) bool {
		return w.DeploymentName == deployment
	})
}

func (g *generator) serviceAccounts() {
	spec := &g.CSV.Spec.InstallStrategy.StrategySpec
	var names []string
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		names = append(names, operator.AccountV1(p))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != operator.DefaultAccount {
			g.add(&corev1.ServiceAccount{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: g.meta(name),
			})
		}
	}
}

// roles adds permissions in the watched namespace, unless all namespaces are watched.
func (g *generator) roles() {
	if g.Watch == "" {
		return
	}
	for _, p := range g.CSV.Spec.InstallStrategy.StrategySpec.Permissions {
		meta := metav1.ObjectMeta{Namespace: g.Watch, Name: operator.RoleNameV1(g.CSV, p)}
		role, binding := operator.Role(meta, p.Rules, g.subjects(p))
		g.add(role)
		g.add(binding)
	}
}

// clusterRoles adds permissions in the whole cluster. If all namespaces are watched, these are all permissions, and the
// permissions meant for one namespace include listing namespaces.
func (g *generator) clusterRoles() {
	spec := &g.CSV.Spec.InstallStrategy.StrategySpec
	all := slices.Clone(spec.ClusterPermissions)
	if g.Watch == "" {
		for _, p := range spec.Permissions {
			p.Rules = operator.Lifted(p.Rules)
			all = append(all, p)
		}
	}
	for _, p := range all {
		role, binding := operator.ClusterRole(metav1.ObjectMeta{Name: operator.RoleNameV1(g.CSV, p)}, p.Rules, g.subjects(p))
		g.add(role)
		g.add(binding)
	}
}

func (g *generator) subjects(p operator.Permissions) []rbacv1.Subject {
	return operator.Subjects(g.Namespace, operator.AccountV1(p))
}
