package simulate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
)

// TestCatalogSources covers the specs, templates, pods, intervals and connections of CatalogSources, with every reason
// and message of OLM.
func TestCatalogSources(t *testing.T) {
	runTable(t, "testdata/catalogsources.txtar", outcome, catalogSources)
}

// TestCatalogObjects checks that the types of Kubernetes have all fields of the objects that serve a CatalogSource.
func TestCatalogObjects(t *testing.T) {
	r := newRun(loaded(t, `apiVersion: v1
kind: Namespace
metadata: {name: olm, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: c.d, namespace: olm}
spec:
  sourceType: grpc
  image: q.io/c:v1
  secrets: [pull]
  grpcPodConfig: {memoryTarget: 100Mi, extractContent: {catalogDir: /configs}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: m, namespace: olm}
spec: {sourceType: configmap, configMap: m}
`), Options{})
	types := map[string]func() any{
		"Pod":            func() any { return new(corev1.Pod) },
		"Service":        func() any { return new(corev1.Service) },
		"ServiceAccount": func() any { return new(corev1.ServiceAccount) },
		"NetworkPolicy":  func() any { return new(networkingv1.NetworkPolicy) },
		"Role":           func() any { return new(rbacv1.Role) },
		"RoleBinding":    func() any { return new(rbacv1.RoleBinding) },
	}
	var objects []cluster.Kubernetes
	for o := range r.State.CatalogSources.All() {
		objects = append(objects, r.podObjects(o.Value)...)
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if other, ok := object.(*cluster.Other); ok {
			text, err = []byte(jsonText(other)), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if err := yaml.UnmarshalStrict(text, types[kind]()); err != nil {
			t.Errorf("%s: %v", RefTo(object), err)
		}
		if kind != "Pod" {
			continue
		}
		var pod corev1.Pod
		if err := yaml.Unmarshal(text, &pod); err != nil {
			t.Fatal(err)
		}
		if pod.Spec.SecurityContext == nil || *pod.Spec.SecurityContext.RunAsUser != 1001 {
			t.Errorf("the namespace is restricted, and the pod has %v", pod.Spec.SecurityContext)
		}
	}
}
