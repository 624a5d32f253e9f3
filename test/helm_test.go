package test

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/publish/manifests"
)

const chartImage = "registry.example:5000/crafts/catalog:v1"

// sets are the options of charts, each in the namespace olm.
var sets = map[string]manifests.Options{
	"one":    {Kind: manifests.Deployment, Replicas: 1},
	"scaled": {Kind: manifests.Deployment, Replicas: 2, MaxReplicas: 4, Size: 191 << 20},
	"digest": {Kind: manifests.Deployment, Replicas: 2, Image: "registry.example/c@sha256:" + strings.Repeat("a", 64)},
	"http":   {Kind: manifests.Deployment, Replicas: 1, HTTPPort: 9090, HTTPProbes: true},
	"monitored": {
		Kind: manifests.Deployment, Replicas: 2, HTTPPort: 8080, ServiceMonitor: true, AllowFrom: []string{"olm", "monitoring"},
	},
	"catalogsource": {
		Kind: manifests.Deployment, Replicas: 2, WithCatalogSource: true, Priority: -7, Publisher: "Pottery",
		DisplayName: "'a' {{ .Values.image }}\n\"b\": # c",
	},
	"classic": {Kind: manifests.CatalogSource, PollInterval: time.Hour, DisplayName: "{{ crafts"},
	"template": {
		Kind: manifests.CatalogSource, Security: "restricted", ClusterOpm: true, Size: 191 << 20,
		ImageTemplate: "registry.example/catalog:v{kube_major_version}.{kube_minor_version}",
	},
	"job": {Kind: manifests.RenderJob, Shards: 3, References: []string{"registry.example/kiln:v1"}},
	"job with a secret": {
		Kind: manifests.RenderJob, Shards: 1, References: []string{"registry.example/kiln:v1"}, AuthSecret: "pull",
	},
}

// chartOf returns the set of some options, and its chart.
func chartOf(t *testing.T, o manifests.Options) (*manifests.Set, *chart.Chart) {
	t.Helper()
	o.Name, o.Namespace = "crafts", "olm"
	if o.Image == "" {
		o.Image = chartImage
	}
	set, err := manifests.New(o)
	if err != nil {
		t.Fatal(err)
	}
	files, err := set.Files(manifests.Helm)
	if err != nil {
		t.Fatal(err)
	}
	var buffered []*loader.BufferedFile
	for _, f := range files {
		buffered = append(buffered, &loader.BufferedFile{Name: f.Name, Data: f.Text})
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		t.Fatal(err)
	}
	return set, c
}

// renderChart returns the objects of a release by kind, without those of its tests.
func renderChart(t *testing.T, c *chart.Chart, release string, values map[string]any) (map[string]any, error) {
	t.Helper()
	in, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: release, Namespace: "olm"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(c, in)
	objects := map[string]any{}
	for name, text := range rendered {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if len(o) > 0 && path.Base(path.Dir(name)) != "tests" {
			objects[o["kind"].(string)] = o
		}
	}
	return objects, err
}

// objectsOf returns the objects of a set by kind.
func objectsOf(t *testing.T, set *manifests.Set) map[string]any {
	t.Helper()
	text, err := set.Text(manifests.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{}
	for _, o := range list.Items {
		objects[o["kind"].(string)] = o
	}
	return objects
}

// plain removes the namespace and Helm's labels from a value, in which they are new.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart", "namespace":
				delete(v, key)
			default:
				v[key] = plain(value)
			}
		}
		if v["kind"] == "CatalogSource" { // it has no labels but those
			delete(v["metadata"].(map[string]any), "labels")
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

// TestChartDefaults checks that a chart, with its values and a release of its name, makes the objects that opm generate
// manifests prints, and that helm lint finds no mistake in it.
func TestChartDefaults(t *testing.T) {
	for name, o := range sets {
		t.Run(name, func(t *testing.T) {
			set, c := chartOf(t, o)
			got, err := renderChart(t, c, "crafts", nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(objectsOf(t, set)), plain(got)); diff != "" {
				t.Errorf("objects, and those of the chart (+):\n%s", diff)
			}
			dir := t.TempDir()
			if err := chartutil.SaveDir(c, dir); err != nil {
				t.Fatal(err)
			}
			for _, m := range helmlint.AllWithKubeVersion(path.Join(dir, "crafts"), nil, "olm", nil).Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
		})
	}
}

// TestChartTexts checks that texts that mean something to YAML or to Helm come out of a chart as they went in.
func TestChartTexts(t *testing.T) {
	for _, text := range []string{
		"it's", `"quoted"`, "'{{ .Values.image }}'", "{{", "}}", "{{{", "a {{ b }} c", "{{`", "`}}`", "{{/*", "[[", "[[.Tag]]",
		"{{- end -}}", `{{ "}}" }}`, "parameter-0", "a: b", "- a", "#", "&a *b !c", "|", "> ", "yes", "1e3", "null", "~", " a ",
		"a\nb\n", "\n---\n{{ a }}\n", "\t'{{\n", "\r\n", "\\{{\\", "\u2028", "<&>", "%{", "{}",
	} {
		for _, kind := range []manifests.Kind{manifests.Deployment, manifests.CatalogSource} {
			o := manifests.Options{Kind: kind, DisplayName: text, Publisher: "'" + text + "'"}
			if kind == manifests.Deployment {
				o.Replicas, o.WithCatalogSource = 1, true
			}
			set, c := chartOf(t, o)
			got, err := renderChart(t, c, "crafts", nil)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			want := objectsOf(t, set)
			if diff := cmp.Diff(plain(want["CatalogSource"]), plain(got["CatalogSource"])); diff != "" {
				t.Errorf("%s with %q (+ is the chart):\n%s", kind, text, diff)
			}
		}
	}
}

// TestChartValues checks what the values of a chart change.
func TestChartValues(t *testing.T) {
	_, c := chartOf(t, manifests.Options{Kind: manifests.Deployment, Replicas: 2, MaxReplicas: 4})
	values := map[string]any{}
	const text = `
image: {digest: "sha256:1", pullSecrets: [{name: pull}]}
replicas: 9
podLabels: {team: pottery}
podAnnotations: {a: b}
tolerations: [{key: catalogs, operator: Exists}]
affinity: {nodeAffinity: {}}
securityContext: {runAsUser: 1001}
http: {enabled: true}
probes: {type: http}
networkPolicy: {enabled: false}
podDisruptionBudget: {enabled: false}
serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 30s}
catalogSource: {enabled: true, namespace: openshift-marketplace}
`
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	got, err := renderChart(t, c, "second", values)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CatalogSource", "Deployment", "HorizontalPodAutoscaler", "Service", "ServiceMonitor"}
	if kinds := slices.Sorted(maps.Keys(got)); !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
	all, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"image: registry.example:5000/crafts/catalog@sha256:1\n", "- name: pull\n", "minReplicas: 9\n",
		"maxReplicas: 9\n", "team: pottery\n", "a: b\n", "key: catalogs\n", "nodeAffinity: {}\n", "runAsUser: 1001\n",
		"- --http-addr=:8080\n", "path: /readyz\n", "release: prometheus\n", "interval: 30s\n",
		"address: second-crafts.olm.svc:50051\n", "namespace: openshift-marketplace\n", "app.kubernetes.io/instance: second\n",
	} {
		if !bytes.Contains(all, []byte(part)) {
			t.Errorf("there is no %q in\n%s", part, all)
		}
	}
	if bytes.Contains(all, []byte("name: crafts\n    namespace")) {
		t.Errorf("an object is called like the chart, not the release:\n%s", all)
	}
	values["http"] = map[string]any{"enabled": false}
	if _, err := renderChart(t, c, "second", values); err == nil || !strings.Contains(err.Error(), "needs http.enabled") {
		t.Errorf("a ServiceMonitor without HTTP: %v", err)
	}
}
