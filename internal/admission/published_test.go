package admission_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestPublished checks that the objects of published bundles are accepted: clusters run them.
func TestPublished(t *testing.T) {
	files, objects := shared.Sample(shared.Glob(t, "data/operators/*/*/manifests/*.y*ml"), 60), 0
	for _, name := range files {
		for _, o := range objectsOf(t, name) {
			objects++
			if errs := admission.Create(o); len(errs) > 0 {
				t.Errorf("%s: %v", name, admission.Invalid(o, errs))
			}
			if errs := admission.Update(o, o); len(errs) > 0 {
				t.Errorf("%s: update to the same: %v", name, admission.Invalid(o, errs))
			}
		}
	}
	if objects < len(files) {
		t.Errorf("%d objects in %d files", objects, len(files))
	}
}

// objectsOf returns the first object of a manifest and, of a ClusterServiceVersion, its Deployments.
func objectsOf(t *testing.T, name string) (all []admission.Object) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	u := new(unstructured.Unstructured)
	if err := utilyaml.NewYAMLOrJSONDecoder(f, 4096).Decode(&u.Object); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", name, err)
	}
	if u.Object == nil {
		return nil
	}
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	if u.GetKind() == v1alpha1.ClusterServiceVersionKind {
		var csv v1alpha1.ClusterServiceVersion
		if err := yaml.Unmarshal(text, &csv); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			for i := range d.Spec.Template.Spec.Containers {
				c := &d.Spec.Template.Spec.Containers[i]
				c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
					return m.MountPath == "/tmp/k8s-webhook-server/serving-certs" // OLM replaces it, with a volume of its own
				})
			}
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: d.Label}, Spec: d.Spec}
			deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			all = append(all, deployment)
		}
	}
	o := admission.New(u.GroupVersionKind())
	if o == nil {
		return slices.Insert(all, 0, admission.Object(u))
	}
	if err := yaml.Unmarshal(text, o); err != nil {
		t.Fatalf("%s: %v", filepath.Base(name), err)
	}
	return append(all, o)
}
