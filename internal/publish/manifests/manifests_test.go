package manifests

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"golang.org/x/tools/txtar"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/golden"
)

const testImage = "registry.example/crafts/catalog:v1"

// A row is a set of options and the name of its golden file.
type row struct {
	name string
	opts Options
}

// options sets each option in at least one row; see TestOptions.
var options = []row{
	{"catalogsource", Options{Kind: CatalogSource}},
	{"catalogsource-namespace", Options{Kind: CatalogSource, Namespace: "olm"}},
	{"catalogsource-priority", Options{Kind: CatalogSource, Priority: -7}},
	{"catalogsource-poll", Options{Kind: CatalogSource, PollInterval: 15 * time.Minute}},
	{"catalogsource-security", Options{Kind: CatalogSource, Security: "restricted"}},
	{"catalogsource-security-legacy", Options{Kind: CatalogSource, Security: "legacy"}},
	{"catalogsource-template", Options{
		Kind: CatalogSource, ImageTemplate: "registry.example/catalog:v{kube_major_version}.{kube_minor_version}",
	}},
	{"catalogsource-merged", Options{
		Kind: CatalogSource, DisplayName: "Crafts", Template: []byte(`{"metadata": {"name": "other", "labels": {"team": "pottery"}},
			"spec": {"displayName": "Other", "publisher": "Pottery", "grpcPodConfig": {"priorityClassName": "low"}}, "status": {}}`),
	}},
	{"catalogsource-cluster-opm", Options{Kind: CatalogSource, ClusterOpm: true, Size: 191 << 20}},
	{"catalogsource-program", Options{Kind: CatalogSource, Program: true}},
	{"catalogsource-program-template", Options{
		Kind: CatalogSource, Program: true, Template: []byte(`{"spec": {"grpcPodConfig": {"priorityClassName": "low"}}}`),
	}},
	{"catalogsource-names", Options{Kind: CatalogSource, DisplayName: "Crafts {{ .Values.image }}", Publisher: "Pottery"}},
	{"clustercatalog", Options{Kind: ClusterCatalog}},
	{"clustercatalog-options", Options{Kind: ClusterCatalog, Priority: 5, PollInterval: time.Hour}},
	{"deployment", Options{Kind: Deployment, Replicas: 2, MaxReplicas: 4}},
	{"deployment-namespace", Options{Kind: Deployment, Namespace: "olm", Replicas: 1}},
	{"deployment-large", Options{Kind: Deployment, Replicas: 3, MaxReplicas: 3, Size: 191 << 20}},
	{"deployment-digest", Options{
		Kind: Deployment, Replicas: 2, Image: "registry.example/crafts/catalog@sha256:" + strings.Repeat("a", 64),
	}},
	{"deployment-catalogsource", Options{
		Kind: Deployment, Namespace: "olm", Replicas: 2, WithCatalogSource: true, Priority: -7, DisplayName: "Crafts",
		Publisher: "Pottery",
	}},
	{"deployment-http", Options{Kind: Deployment, Replicas: 1, HTTPPort: 8080}},
	{"deployment-monitored", Options{
		Kind: Deployment, Namespace: "olm", Replicas: 2, HTTPPort: 9090, HTTPProbes: true, ServiceMonitor: true,
		AllowFrom: []string{"olm", "monitoring"},
	}},
	{"render-job", Options{Kind: RenderJob, References: bundles, Shards: 16}},
	{"render-job-secret", Options{Kind: RenderJob, References: bundles, Shards: 1, AuthSecret: "pull"}},
	{"reader", Options{Kind: Reader, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"list"},
	}}}},
}

var bundles = []string{"registry.example/kiln:v1", "registry.example/loom@sha256:" + strings.Repeat("b", 64)}

// TestOptions checks that every option is in a golden file.
func TestOptions(t *testing.T) {
	for f := range reflect.TypeFor[Options]().Fields() {
		used := slices.ContainsFunc(options, func(r row) bool {
			return !reflect.ValueOf(r.opts).FieldByIndex(f.Index).IsZero()
		})
		if !used && f.Name != "Name" { // newSet sets the name
			t.Errorf("no golden has the option %s", f.Name)
		}
	}
}

func newSet(t *testing.T, opts Options) *Set {
	t.Helper()
	if opts.Image == "" {
		opts.Image = testImage
	}
	opts.Name = "crafts"
	set, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestGolden(t *testing.T) {
	for _, tt := range options {
		t.Run(tt.name, func(t *testing.T) {
			set := newSet(t, tt.opts)
			text, err := set.Text(YAML)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+tt.name+".yaml", text)
			for i, doc := range bytes.Split(text, []byte("---\n")) {
				wantObject(t, doc, set.objects[i])
			}
		})
	}
}

// TestFormats compares all files of every format with a golden file.
func TestFormats(t *testing.T) {
	set := newSet(t, Options{Kind: Deployment, Namespace: "olm", Replicas: 2, MaxReplicas: 4, WithCatalogSource: true})
	for _, form := range []Format{JSON, Kustomize, Helm} {
		t.Run(string(form), func(t *testing.T) {
			files, err := set.Files(form)
			if err != nil {
				t.Fatal(err)
			}
			var all txtar.Archive
			for _, f := range files {
				all.Files = append(all.Files, txtar.File{Name: f.Name, Data: f.Text})
			}
			golden.Compare(t, "testdata/files-"+string(form)+".txtar", txtar.Format(&all))
		})
	}
}

// wantObject decodes text as strictly as an API server, and compares the object.
func wantObject(t *testing.T, text []byte, want any) {
	t.Helper()
	got := any(&tree{})
	if kind := reflect.TypeOf(want); kind.Kind() == reflect.Pointer {
		got = reflect.New(kind.Elem()).Interface()
	}
	if err := yaml.UnmarshalStrict(text, got); err != nil {
		t.Errorf("%v in\n%s", err, text)
		return
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if tree, ok := want.(tree); ok { // its metadata has a type, with another order of keys
		_ = json.Unmarshal(b, &tree)
		b, _ = json.Marshal(tree)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("read again, it is\n%s\nand was\n%s", a, b)
	}
}

// TestTypes checks that the objects of types that a Go API defines decode into these types.
func TestTypes(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want []any
	}{
		{Options{Kind: CatalogSource}, []any{&v1alpha1.CatalogSource{}}},
		{Options{Kind: Deployment, Namespace: "olm", Replicas: 2, MaxReplicas: 4, WithCatalogSource: true}, []any{
			&appsv1.Deployment{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &policyv1.PodDisruptionBudget{},
			&autoscalingv2.HorizontalPodAutoscaler{}, &v1alpha1.CatalogSource{},
		}},
		{Options{Kind: RenderJob, References: bundles, Shards: 3}, []any{
			&corev1.ConfigMap{}, &corev1.PersistentVolumeClaim{}, &batchv1.Job{},
		}},
	} {
		set := newSet(t, tt.opts)
		if len(set.objects) != len(tt.want) {
			t.Fatalf("got %d objects, want %d", len(set.objects), len(tt.want))
		}
		for i, o := range set.objects {
			kind := set.trees[i]["kind"]
			if reflect.TypeOf(o) != reflect.TypeOf(tt.want[i]) || kind != reflect.TypeOf(o).Elem().Name() {
				t.Errorf("got %s as a %T, want a %T", kind, o, tt.want[i])
			}
		}
	}
}

// TestPodSecurity checks that clusters admit the pods: Kubernetes by the restricted Pod Security Standard, OpenShift by
// the security context constraints restricted-v2, which allow only users and groups of the namespace's own ranges.
func TestPodSecurity(t *testing.T) {
	pods := 0
	for _, tt := range options {
		for _, o := range newSet(t, tt.opts).objects {
			var pod corev1.PodSpec
			switch o := o.(type) {
			case *appsv1.Deployment:
				pod = o.Spec.Template.Spec
			case *batchv1.Job:
				pod = o.Spec.Template.Spec
			default:
				continue
			}
			pods++
			s := pod.SecurityContext
			if s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || s.SupplementalGroups != nil {
				t.Errorf("%s: the pod names a user or a group, which OpenShift refuses", tt.name)
			}
			if s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
				pod.HostNetwork || pod.HostPID || pod.HostIPC {
				t.Errorf("%s: the pod is not restricted", tt.name)
			}
			for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
				s := c.SecurityContext
				if s.RunAsUser != nil || *s.AllowPrivilegeEscalation || s.Privileged != nil || s.Capabilities.Add != nil ||
					!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
					t.Errorf("%s: container %s is not restricted", tt.name, c.Name)
				}
			}
			for _, v := range pod.Volumes {
				if v.HostPath != nil {
					t.Errorf("%s: volume %s is a directory of the host", tt.name, v.Name)
				}
			}
		}
	}
	if pods < 8 {
		t.Errorf("%d pods", pods)
	}
}

func TestJSON(t *testing.T) {
	set := newSet(t, Options{Kind: Deployment, Replicas: 2, MaxReplicas: 4})
	text, err := set.Text(JSON)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		APIVersion, Kind string
		Items            []json.RawMessage
	}
	golden.Compare(t, "testdata/deployment.json", text)
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "List" || list.APIVersion != "v1" || len(list.Items) != len(set.objects) {
		t.Fatalf("got a %s %s of %d", list.APIVersion, list.Kind, len(list.Items))
	}
	for i, item := range list.Items {
		wantObject(t, item, set.objects[i])
	}
}

func TestKustomize(t *testing.T) {
	set := newSet(t, Options{Kind: Deployment, Replicas: 2, MaxReplicas: 4})
	files, err := set.Files(Kustomize)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]byte{}
	for _, f := range files {
		byName[f.Name] = f.Text
	}
	var k struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Resources  []string `json:"resources"`
	}
	if err := yaml.UnmarshalStrict(byName["kustomization.yaml"], &k); err != nil {
		t.Fatal(err)
	}
	if len(k.Resources) != len(set.objects) || len(files) != len(set.objects)+1 {
		t.Fatalf("got %q and %d files", k.Resources, len(files))
	}
	for i, name := range k.Resources {
		wantObject(t, byName[name], set.objects[i])
	}
}

func TestErrors(t *testing.T) {
	digest := "registry.example/c@sha256:" + strings.Repeat("a", 64)
	for want, opts := range map[string]Options{
		`name "Crafts": want lower-case`:               {Kind: ClusterCatalog, Name: "Crafts"},
		`name "1crafts", of which the Service gets`:    {Kind: Deployment, Name: "1crafts", Replicas: 1},
		`name "a.b", of which the Service gets`:        {Kind: Deployment, Name: "a.b", Replicas: 1},
		`namespace "a.b": want lower-case`:             {Kind: CatalogSource, Namespace: "a.b"},
		`namespace "olm": a ClusterCatalog has none`:   {Kind: ClusterCatalog, Namespace: "olm"},
		`image "registry.example/c": want a tag`:       {Kind: CatalogSource, Image: "registry.example/c"},
		`image "c:v1": it must begin with the host`:    {Kind: CatalogSource, Image: "c:v1"},
		`0 replicas, want at least 1`:                  {Kind: Deployment},
		`unknown kind "pod"`:                           {Kind: "pod"},
		`security "strict": want legacy`:               {Kind: CatalogSource, Security: "strict"},
		`poll interval -1s: want more than 0`:          {Kind: CatalogSource, PollInterval: -time.Second},
		`there is never another image`:                 {Kind: ClusterCatalog, PollInterval: time.Hour, Image: digest},
		`1m30s: a ClusterCatalog counts whole`:         {Kind: ClusterCatalog, PollInterval: 90 * time.Second},
		`CatalogSource with the address of the Servic`: {Kind: Deployment, Replicas: 1, WithCatalogSource: true},
		`HTTP port 65536: want 1 to 65535`:             {Kind: Deployment, Replicas: 1, HTTPPort: 65536},
		`HTTP port 50051: gRPC has this port`:          {Kind: Deployment, Replicas: 1, HTTPPort: 50051},
		`probes over HTTP need an HTTP port`:           {Kind: Deployment, Replicas: 1, HTTPProbes: true},
		`a ServiceMonitor needs an HTTP port`:          {Kind: Deployment, Replicas: 1, ServiceMonitor: true},
		`allowed namespace "A": want lower-case`:       {Kind: Deployment, Replicas: 1, AllowFrom: []string{"A"}},
		`0 shards, want at least 1`:                    {Kind: RenderJob, References: bundles},
		`no references to render`:                      {Kind: RenderJob, Shards: 1},
		`reference "bundle": it must begin with`:       {Kind: RenderJob, Shards: 1, References: []string{"bundle"}},
		`name "a.b", from which pods get theirs`:       {Kind: RenderJob, Shards: 1, Name: "a.b", References: bundles},
		`secret "A": want lower-case`:                  {Kind: RenderJob, Shards: 1, AuthSecret: "A", References: bundles},
		`50000 references of 1250000 bytes are too`: {
			Kind: RenderJob, Shards: 1, References: slices.Repeat([]string{"registry.example/kiln:v1"}, 50000),
		},
		`template "c:{kube_minor}": cannot construct`: {Kind: CatalogSource, ImageTemplate: "c:{kube_minor}"},
	} {
		if opts.Name == "" {
			opts.Name = "crafts"
		}
		if opts.Image == "" {
			opts.Image = testImage
		}
		if _, err := New(opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %s", opts.Kind, err, want)
		}
	}
	if _, err := New(Options{Kind: CatalogSource, Name: "a.b", Image: testImage}); err != nil {
		t.Errorf("a dot in the name of a CatalogSource: %v", err)
	}
}

// TestWriteFiles checks that files are written below a new directory, and that others in it stay.
func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for _, files := range [][]File{
		{{Name: "a.yaml", Text: []byte("a: 1")}, {Name: "templates/b.yaml", Text: []byte("b: 1")}},
		{{Name: "a.yaml", Text: []byte("a: 2")}},
	} {
		if err := WriteFiles(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a.yaml": "a: 2", "templates/b.yaml": "b: 1"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); string(text) != want || err != nil {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}
