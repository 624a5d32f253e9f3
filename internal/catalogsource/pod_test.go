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

// TestRunningImage checks the reference of the image that a pod runs: its repository, and the digest of its status.
func TestRunningImage(t *testing.T) {
	const digest = "sha256:e4a9caaa9d778e7130b2f579f30a9b9d2400578b1983f099e041210b20df3ea5"
	for _, tt := range []struct{ name, image, id, extracts, want string }{
		{name: "tag", image: "r.example:5000/c:v1", id: "r.example:5000/c@" + digest, want: "r.example:5000/c@" + digest},
		{name: "no tag", image: "r.example:5000/c", id: "r.example:5000/c@" + digest, want: "r.example:5000/c@" + digest},
		{name: "digest", image: "r.example/c@sha256:0", id: "r.example/c@" + digest, want: "r.example/c@" + digest},
		{name: "other name on the node", image: "r.example/c:v1", id: "x.example/y@" + digest, want: "r.example/c@" + digest},
		{name: "docker", image: "r.example/c:v1", id: "docker-pullable://r.example/c@" + digest, want: "r.example/c@" + digest},
		{name: "config", image: "r.example/c:v1", id: digest},
		{name: "waiting", image: "r.example/c:v1"},
		{
			name: "extracted", image: "opm.example/opm:v1", id: "opm.example/opm@sha256:0",
			extracts: "r.example/c:v1", want: "r.example/c@" + digest,
		},
	} {
		pod := &corev1.Pod{}
		pod.Spec.Containers = []corev1.Container{{Name: "registry-server", Image: tt.image}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "registry-server", ImageID: tt.id}}
		if tt.extracts != "" {
			pod.Spec.InitContainers = []corev1.Container{{Name: "extract-content", Image: tt.extracts}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "extract-content", ImageID: "x@" + digest}}
		}
		if got := RunningImage(pod); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
