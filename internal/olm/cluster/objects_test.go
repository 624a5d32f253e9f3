package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// everyKind has an object of each kind with a field in State, and objects of other kinds.
const everyKind = `
{kind: Namespace, apiVersion: v1, metadata: {name: a}}
---
{kind: ServiceAccount, apiVersion: v1, metadata: {name: a, namespace: ns}, secrets: [{name: x}]}
---
{kind: Deployment, apiVersion: apps/v1, metadata: {name: a, namespace: ns}, spec: {replicas: 1, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 100m}}, ports: [{containerPort: 1}]}]}}}}
---
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: as.x.io}
spec:
  group: x.io
  names: {plural: as, kind: A}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: integer, default: 1}}}}}]
---
{kind: APIService, apiVersion: apiregistration.k8s.io/v1, metadata: {name: v1.y.io}, spec: {group: y.io, version: v1, caBundle: Cg==,
  groupPriorityMinimum: 1, versionPriority: 2, service: {name: s, namespace: ns, port: 443}}, status: {conditions: [{type: Available, status: "True"}]}}
---
{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: a, namespace: ns}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: a, namespace: ns}, roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: "system:a"}, rules: [{nonResourceURLs: [/healthz], verbs: [get]}]}
---
{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: a}, roleRef: {kind: ClusterRole, name: a, apiGroup: rbac.authorization.k8s.io}}
---
{kind: MutatingWebhookConfiguration, apiVersion: admissionregistration.k8s.io/v1, metadata: {name: a}, webhooks: [{name: a.x.io, sideEffects: None,
  admissionReviewVersions: [v1], clientConfig: {url: "https://a"}}]}
---
{kind: ValidatingWebhookConfiguration, apiVersion: admissionregistration.k8s.io/v1, metadata: {name: a}}
---
{kind: OperatorGroup, apiVersion: operators.coreos.com/v1, metadata: {name: a, namespace: ns}, status: {lastUpdated: null}}
---
{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns}, spec: {sourceType: grpc, address: 'a:1'}}
---
{kind: Subscription, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns}, spec: {name: p, source: c, sourceNamespace: olm}}
---
{kind: ClusterServiceVersion, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns}, spec: {version: 1.0.0,
  install: {strategy: deployment, spec: {deployments: []}}}}
---
{kind: InstallPlan, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns}, spec: {approval: Manual, approved: false}}
---
{kind: OperatorCondition, apiVersion: operators.coreos.com/v2, metadata: {name: a, namespace: ns}, spec: {conditions: [{type: Upgradeable, status: "False"}]}}
---
{kind: OperatorCondition, apiVersion: operators.coreos.com/v1, metadata: {name: b, namespace: ns}, spec: {overrides: [{type: Upgradeable, status: "True"}]}}
---
{kind: OLMConfig, apiVersion: operators.coreos.com/v1, metadata: {name: cluster}, spec: {features: {disableCopiedCSVs: true}}}
---
{kind: ClusterCatalog, apiVersion: olm.operatorframework.io/v1, metadata: {name: a}, spec: {priority: 7, source: {type: Image, image: {ref: "x:1",
  pollIntervalMinutes: 10}}}, status: {lastUnpacked: "2026-01-01T00:00:00Z", urls: {base: "https://a"}}}
---
{kind: ClusterExtension, apiVersion: olm.operatorframework.io/v1, metadata: {name: a}, spec: {namespace: ns, serviceAccount: {name: sa},
  install: {preflight: {crdUpgradeSafety: {enforcement: None}}}, source: {sourceType: Catalog, catalog: {packageName: p}}},
  status: {install: {bundle: {name: p.v1, version: 1.0.0}}}}
---
{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, spec: 7, status: {deep: [1, {b: 9007199254740993}]}}
---
{kind: ClusterVersion, apiVersion: config.openshift.io/v1, metadata: {name: version}, status: {desired: {version: 4.20.1}}}
---
{kind: Kustomization, apiVersion: kustomize.config.k8s.io/v1beta1, resources: [a.yaml]}
`

func load(t *testing.T, text string) *cluster.State {
	t.Helper()
	s, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryKind(t *testing.T) {
	s := load(t, everyKind)
	const want = 23 // all objects that have a name
	if got := strings.Count(listing(s), "\n") + 1; got != want {
		t.Errorf("%d objects, want %d:\n%s", got, want, listing(s))
	}
	if c, ok := s.OperatorConditions.Get("ns", "b"); !ok || c.Value.APIVersion != "operators.coreos.com/v2" {
		t.Errorf("the older version became %+v", c.Value)
	}
	version, ok := s.Get(schema.GroupKind{Group: "config.openshift.io", Kind: "ClusterVersion"}, "", "version")
	if !ok {
		t.Fatal("no ClusterVersion")
	}
	if got := string(version.Value.(*cluster.Other).Unknown); got != `{"status":{"desired":{"version":"4.20.1"}}}` {
		t.Errorf("carried along: %s", got)
	}
}

// TestClone checks that a clone has the same objects, and that changes of either State are not seen in the other.
func TestClone(t *testing.T) {
	s := load(t, everyKind)
	before := listing(s)
	clone := s.Clone()
	if got := listing(clone); got != before {
		t.Errorf("the clone has\n%s\nwant\n%s", got, before)
	}
	for o := range s.All() {
		gk := cluster.KindOf(o.Value)
		clone.Delete(gk, o.Value.GetNamespace(), o.Value.GetName())
	}
	if got := listing(clone); got != "" {
		t.Errorf("after all was deleted: %s", got)
	}
	if got := listing(s); got != before {
		t.Errorf("the state has changed: %s", got)
	}
}

// TestNoObjects checks a kind without a field in State and without objects, and then with one.
func TestNoObjects(t *testing.T) {
	of := schema.GroupKind{Kind: "ConfigMap"}
	var s cluster.State
	s.Delete(of, "ns", "a")
	if _, ok := s.Get(of, "ns", "a"); ok || s.Other(of).Len() != 0 || s.Others != nil {
		t.Errorf("the State has ConfigMaps: %+v", s.Others)
	}
	count := func() (in, all int) {
		for range s.In(of, "ns") {
			in++
		}
		for range s.Of(of) {
			all++
		}
		return in, all
	}
	if in, all := count(); in != 0 || all != 0 {
		t.Errorf("got %d and %d objects", in, all)
	}
	for _, namespace := range []string{"ns", "other"} {
		o := &cluster.Other{}
		o.SetGroupVersionKind(of.WithVersion("v1"))
		o.Namespace, o.Name = namespace, "a"
		s.Put(cluster.Object[cluster.Kubernetes]{Value: o})
	}
	if in, all := count(); in != 1 || all != 2 || s.Other(of).Len() != 2 {
		t.Errorf("got %d and %d objects, want 1 and 2", in, all)
	}
}

// TestDeepCopy checks that changes of a copy are not seen in the object.
func TestDeepCopy(t *testing.T) {
	for o := range load(t, everyKind).All() {
		clone := o.Value.DeepCopyObject().(cluster.Kubernetes)
		clone.SetLabels(map[string]string{"a": "b"})
		clone.SetOwnerReferences([]metav1.OwnerReference{{Name: "x"}})
		if len(o.Value.GetLabels()) > 0 || len(o.Value.GetOwnerReferences()) > 0 {
			t.Errorf("%s shares its metadata with its copy", o.Pos)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "a"}, "unknown": 1}`, "*v1.Role"},
		{`{"kind": "OperatorCondition", "apiVersion": "operators.coreos.com/v1"}`, "*v2.OperatorCondition"},
		{`{"kind": "A", "apiVersion": "x.io/v1"}`, "*cluster.Other"},
		{`{"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v2"}`,
			`error: unknown version "rbac.authorization.k8s.io/v2" of Role, want "rbac.authorization.k8s.io/v1"`},
		{`{"kind": "A"}`, "error: not an object of Kubernetes: it has no apiVersion or no kind"},
		{`{"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1", "rules": {}}`, "error: rules: want a list, found an object"},
		{`{`, "error: "},
	} {
		o, err := cluster.Decode([]byte(tt.text))
		got := fmt.Sprintf("%T", o)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestMustGather reads the output of must-gather, which also has logs and other data, some objects twice, and truncated
// files.
func TestMustGather(t *testing.T) {
	const dir = "must-gather.local.1/quay-io-must-gather-sha256-1/"
	const namespace = `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "ns", "uid": "1", "resourceVersion": "%"}}`
	files := map[string]string{
		"timestamp":                      "2026",
		"event-filter.html":              "<html>",
		"version":                        "4.20",
		"etcd_info/endpoint_status.json": `[1]`,
		"monitoring/rules.json":          `{"data": 1}`,
		"cluster-scoped-resources/core/namespaces/ns.yaml":     strings.ReplaceAll(namespace, "%", "1"),
		"namespaces/ns/ns.yaml":                                strings.ReplaceAll(namespace, "%", "2"),
		"namespaces/ns/core/configmaps.yaml":                   "---\napiVersion: v1\nitems: []\nkind: ConfigMapList\n",
		"namespaces/ns/core/secrets.yaml":                      "",
		"namespaces/ns/apps/deployments.yaml":                  "kind: DeploymentList\napiVersion: apps/v1\nitems:\n- metadata: {name: d, namespace: ns}\n",
		"namespaces/ns/operators.coreos.com/installplans.yaml": "kind: InstallPlanList\napiVersion: operators.coreos.com/v1alpha1\nitems:\n- metadata: {name: i, na",
		"namespaces/ns/operators.coreos.com/subs.json":         "{\"kind\": \"List\",\n \"apiVersion\": \"v1\",\n \"items\": [{\"kind\":",
		"namespaces/ns/pods/p/p.yaml":                          "kind: Pod\napiVersion: v1\nmetadata: {name: p, namespace: ns, uid: x}\n",
		"namespaces/ns/core/pods.yaml":                         "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: p, namespace: ns, uid: x}\n",
		"namespaces/ns/pods/p/c/c/logs/current.log":            "{",
	}
	gathered := fstest.MapFS{}
	for name, text := range files {
		gathered[dir+name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, err := cluster.Load(t.Context(), nil, declcfg.Source{Name: "mg", FS: gathered})
	const want = "mg/" + dir + `cluster-scoped-resources/core/namespaces/ns.yaml:1:1: Namespace /ns
mg/` + dir + `namespaces/ns/apps/deployments.yaml:4:3: Deployment ns/d
mg/` + dir + `namespaces/ns/core/pods.yaml:4:3: other Pod ns/p`
	if got := listing(s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var errs []string
	for line := range strings.Lines(err.Error()) {
		place, _, _ := strings.Cut(strings.TrimPrefix(line, "mg/"+dir), ": ")
		errs = append(errs, place)
	}
	if got := strings.Join(errs, " "); got != "namespaces/ns/operators.coreos.com/installplans.yaml:4:13 namespaces/ns/operators.coreos.com/subs.json:3:20" {
		t.Errorf("got %s\n%v", got, err)
	}
}
