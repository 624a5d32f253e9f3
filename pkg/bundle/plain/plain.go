// Package plain turns a bundle of type registry+v1 into the manifests that OLM v1 applies for a ClusterExtension.
//
//	contents, err := bundle.ReadContents(os.DirFS("oak/1.0.0"), "oak/1.0.0", bundle.Options{})
//	if err != nil {
//		return err
//	}
//	objects, err := plain.Objects(contents, plain.Options{Namespace: "oak-system"})
//
// Names, order and the reasons for refusing a bundle are the same as in operator-controller. Objects that it does not
// order, such as service accounts, are sorted by name.
package plain

import (
	"errors"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/cluster/operator"
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
				g.trust(&crd.ObjectMeta, w.DeploymentName)
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
