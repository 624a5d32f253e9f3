package catalogsource

import (
	"os"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// rows returns the rows of a table.
func rows[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d rows, %v", file, len(all), err)
	}
	return all
}

func TestPod(t *testing.T) {
	type row struct {
		Name      string                     `json:"name"`
		Spec      v1alpha1.CatalogSourceSpec `json:"spec"`
		Namespace string                     `json:"namespace"`
		Has       []string                   `json:"has"`
		Lacks     []string                   `json:"lacks"`
	}
	for _, tt := range rows[row](t, "testdata/pods.yaml") {
		t.Run(tt.Name, func(t *testing.T) {
			source := &v1alpha1.CatalogSource{Spec: tt.Spec}
			source.Name, source.Namespace = "c", "olm"
			if tt.Spec.SourceType == "" {
				source.Spec.SourceType = v1alpha1.SourceTypeGrpc
			}
			namespace := new(corev1.Namespace)
			namespace.Labels = map[string]string{labelEnforce: tt.Namespace}
			text, err := yaml.Marshal(Pod(source, Security(source, namespace)))
			if err != nil {
				t.Fatal(err)
			}
			pod := string(text)
			for _, want := range tt.Has {
				if !strings.Contains(pod, want) {
					t.Errorf("want %q in\n%s", want, pod)
				}
			}
			for _, no := range tt.Lacks {
				if strings.Contains(pod, no) {
					t.Errorf("want no %q in\n%s", no, pod)
				}
			}
		})
	}
}
