package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// filesOf returns the source of a directory from txtar-like sections: a line "-- NAME --" and the text of the file.
func filesOf(text string) declcfg.Source {
	files := fstest.MapFS{}
	for i, section := range strings.Split(text, "-- ") {
		if name, content, ok := strings.Cut(section, " --\n"); ok && i > 0 {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return declcfg.Source{Name: "state", FS: files}
}

// listing returns a line for each object with its position, kind and name, sorted.
func listing(s *cluster.State) string {
	var lines []string
	for o := range s.All() {
		kind := o.Value.GetObjectKind().GroupVersionKind().Kind
		if _, ok := o.Value.(*cluster.Other); ok {
			kind = "other " + kind
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s/%s", o.Pos, kind, o.Value.GetNamespace(), o.Value.GetName()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// first returns the first object of a store.
func first[P cluster.Kubernetes](s cluster.Store[P]) (object P) {
	for o := range s.All() {
		return o.Value
	}
	return object
}

// TestLoad reads objects in all forms in which kubectl prints them.
func TestLoad(t *testing.T) {
	s, err := cluster.Load(t.Context(), nil, filesOf(`
-- a/list.yaml --
apiVersion: v1
items:
- apiVersion: operators.coreos.com/v1alpha1
  kind: Subscription
  metadata:
    creationTimestamp: "2026-08-20T10:00:00Z"
    generation: 1
    managedFields:
    - {apiVersion: operators.coreos.com/v1alpha1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {".": {}}}, manager: kubectl}
    name: etcd
    namespace: ns
    uid: 0c3b1f7e-0d9f-4c35-8a63-1f5f9f1b8d8e
  spec: {channel: stable, name: etcd, source: cat, sourceNamespace: olm, unknown: 1}
  status: {installedCSV: etcd.v1, lastUpdated: "2026-08-20T10:00:00Z", conditions: [{type: X, status: "True"}]}
- apiVersion: v1
  kind: List
  items:
  - apiVersion: operators.coreos.com/v1
    kind: OperatorGroup
    metadata: {name: og, namespace: ns}
    spec: {targetNamespaces: [ns], upgradeStrategy: TechPreviewUnsafeFailForward}
    status: {lastUpdated: null}
kind: List
metadata:
  resourceVersion: ""
-- b.yml --
# two documents
apiVersion: v1
kind: Namespace
metadata: {name: ns, labels: {a: b}}
---

apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: cat, namespace: olm}
spec: {sourceType: grpc, image: "x:1", priority: -5}
-- c.json --
{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersionList", "items": [
  {"metadata": {"name": "etcd.v1", "namespace": "ns"}, "spec": {"version": "1.0.0", "install": {"strategy": "deployment"}}}]}
{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "cc"},
 "spec": {"priority": 7, "availabilityMode": "Unavailable", "source": {"type": "Image", "image": {"ref": "x:1"}}}}
-- d.yaml --
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: ce}
spec:
  namespace: ns
  source:
    sourceType: Catalog
    catalog: {packageName: p, version: ">=1 <2", channels: [a], selector: {matchLabels: {x: z}}, upgradeConstraintPolicy: SelfCertified}
status:
  conditions: [{type: Installed, status: "True", reason: Succeeded, message: Installed bundle x@sha256:1 successfully}]
  install: {bundle: {name: p.v1, version: 1.0.0}}
---
apiVersion: messaging.knative.dev/v1
kind: Subscription
metadata: {name: not-olm}
-- .hidden.yaml --
not: read
-- ..data/e.yaml --
not: read
-- notes.txt --
not read
`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `state/a/list.yaml:18:5: OperatorGroup ns/og
state/a/list.yaml:3:3: Subscription ns/etcd
state/b.yml:2:1: Namespace /ns
state/b.yml:7:1: CatalogSource olm/cat
state/c.json:2:3: ClusterServiceVersion ns/etcd.v1
state/c.json:3:1: ClusterCatalog /cc
state/d.yaml:13:1: other Subscription /not-olm
state/d.yaml:1:1: ClusterExtension /ce`
	if got := listing(s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := first(s.Subscriptions); got.Spec.Channel != "stable" || got.Status.InstalledCSV != "etcd.v1" {
		t.Errorf("subscription %+v", got)
	}
	if got := first(s.ClusterServiceVersions).Spec.Version.String(); got != "1.0.0" {
		t.Errorf("version %s", got)
	}
	if got := first(s.ClusterCatalogs).Spec; got.Priority != 7 || got.AvailabilityMode != "Unavailable" {
		t.Errorf("catalog %+v", got)
	}
	q := first(s.ClusterExtensions).Request()
	if q.Package != "p" || q.Version != ">=1 <2" || !q.SelfCertified || q.Selector.MatchLabels["x"] != "z" ||
		q.Installed.Name != "p.v1" || q.Installed.Image != "x@sha256:1" {
		t.Errorf("question %+v, %+v", q, q.Installed)
	}
}

// TestProblems checks that invalid objects are reported with their position, and that all other objects are read.
func TestProblems(t *testing.T) {
	const good = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: good}\n"
	for _, tt := range []struct{ name, text, want string }{
		{
			"an unknown version", "kind: OperatorGroup\napiVersion: operators.coreos.com/v1alpha2\nmetadata: {name: g, namespace: ns}\n",
			`-:2:13: apiVersion: unknown version "operators.coreos.com/v1alpha2" of OperatorGroup, want "operators.coreos.com/v1"`,
		},
		{
			"no name", "kind: Namespace\napiVersion: v1\nmetadata: {}\n",
			`-:3:11: metadata.name: Namespace "": required`,
		},
		{
			"missing fields",
			"kind: Subscription\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: s, namespace: ns}\nspec:\n  name: p\n",
			`-:5:3: spec.source: Subscription "ns/s": required
-:5:3: spec.sourceNamespace: Subscription "ns/s": required`,
		},
		{
			"no namespace and no spec, in a List",
			"kind: List\napiVersion: v1\nitems:\n- kind: Subscription\n  apiVersion: operators.coreos.com/v1alpha1\n  metadata: {name: s}\n",
			`-:4:3: items[0].spec.name: Subscription "s": required
-:4:3: items[0].spec.source: Subscription "s": required
-:4:3: items[0].spec.sourceNamespace: Subscription "s": required
-:6:13: items[0].metadata.namespace: Subscription "s": required`,
		},
		{
			"a value that is not in an enum",
			"kind: CatalogSource\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: c, namespace: ns}\n" +
				"spec: {sourceType: grpc, image: q.io/c, grpcPodConfig: {securityContextConfig: odd}}\n",
			`-:4:80: spec.grpcPodConfig.securityContextConfig: CatalogSource "ns/c": unknown value "odd", want "legacy" or "restricted"`,
		},
		{
			"an upgradeStrategy",
			"kind: OperatorGroup\napiVersion: operators.coreos.com/v1\nmetadata: {name: g, namespace: ns}\nspec: {upgradeStrategy: default}\n",
			`-:4:25: spec.upgradeStrategy: OperatorGroup "ns/g": want Default or TechPreviewUnsafeFailForward, found "default"`,
		},
		{
			"the type of a source",
			"kind: ClusterCatalog\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: c}\nspec: {source: {type: image, image: {ref: q.io/c}}}\n",
			`-:4:23: spec.source.type: ClusterCatalog "c": want Image, found "image"`,
		},
		{
			"an enforcement",
			"kind: ClusterExtension\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: e}\nspec: {namespace: ns, " +
				"source: {sourceType: Catalog, catalog: {packageName: p}}, install: {preflight: {crdUpgradeSafety: {enforcement: none}}}}\n",
			`-:4:135: spec.install.preflight.crdUpgradeSafety.enforcement: ClusterExtension "e": want None or Strict, found "none"`,
		},
		{
			"an unknown field of a config",
			"kind: Subscription\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: s, namespace: ns}\n" +
				"spec: {name: p, source: c, sourceNamespace: ns, unknown: 1, config: {tolerations: [{keys: a}]}}\n",
			`-:4:91: spec.config.tolerations[0].keys: unknown field`,
		},
		{
			"a bad quantity",
			"kind: Subscription\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: s, namespace: ns}\n" +
				"spec: {name: p, source: c, sourceNamespace: ns, unknown: 1, config: {resources: {limits: {cpu: 1 core}}}}\n",
			`-:4:96: spec.config.resources.limits.cpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
		},
		{
			"a number for a duration",
			"kind: CatalogSource\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: c, namespace: ns}\n" +
				"spec:\n  sourceType: grpc\n  image: q.io/c\n  updateStrategy:\n    registryPoll:\n      interval: 30\n",
			`-:9:17: spec.updateStrategy.registryPoll.interval: want a duration, found 30: write "30m"`,
		},
		{
			"true for a duration", "kind: OLMConfig\napiVersion: operators.coreos.com/v1\nmetadata: {name: cluster}\n" +
				"spec: {features: {packageServerSyncInterval: true}}\n",
			`-:4:46: spec.features.packageServerSyncInterval: want a duration, found true: write "10m"`,
		},
		{
			"no duration", "kind: OLMConfig\napiVersion: operators.coreos.com/v1\nmetadata: {name: cluster}\n" +
				"spec: {features: {packageServerSyncInterval: ten minutes}}\n",
			`-:4:46: spec.features.packageServerSyncInterval: want a duration such as "10m", found "ten minutes"`,
		},
		{
			"a number for a string",
			"kind: Subscription\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: s, namespace: ns}\n" +
				"spec: {name: p, source: c, sourceNamespace: ns, channel: 4.18}\n",
			`-:4:58: spec.channel: want a string, found a number; put it in quotes`,
		},
		{
			"a wrong type",
			"kind: OperatorGroup\napiVersion: operators.coreos.com/v1\nmetadata: {name: g, namespace: ns}\nspec:\n  targetNamespaces:\n  - {a: b}\n",
			`-:6:5: spec.targetNamespaces[0]: want a string, found an object`,
		},
		{
			"a bad time", "kind: Namespace\napiVersion: v1\nmetadata: {name: ns, creationTimestamp: yesterday}\n",
			`-:3:41: metadata.creationTimestamp: parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"`,
		},
		{
			"two of one name", "kind: Namespace\napiVersion: v1\nmetadata: {name: ns}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: ns}\n",
			`-:5:1: Namespace "ns" is already defined at -:1:1`,
		},
		{"no object", "- 1\n", `-:1:1: want an object, found a list`},
		{"no kind", "apiVersion: v1\n", `-:1:1: not an object of Kubernetes: it has no apiVersion or no kind`},
		{"an item without a type", "kind: List\napiVersion: v1\nitems:\n- metadata: {name: x}\n",
			`-:4:3: items[0]: not an object of Kubernetes: it has no apiVersion or no kind`},
		{"items that are no list", "kind: List\napiVersion: v1\nitems: 7\n", `-:3:8: items: want a list, found a number`},
		{"broken YAML", "kind: [\n", `-:2:1: `},
		{
			"equal keys", "kind: Pod\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
			`-:3:1: key "kind" is already defined at -:1:1`,
		},
		{
			"what a cluster refuses",
			"kind: ClusterExtension\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: e}\nspec:\n  namespace: ns\n  source:\n" +
				"    sourceType: Catalog\n    catalog:\n      packageName: p\n      version: 1.0 - 2.0\n      channels: [a, B]\n" +
				"      upgradeConstraintPolicy: Ignore\n",
			`-:10:16: spec.source.catalog.version: ClusterExtension "e": Invalid value: "1.0 - 2.0": invalid version expression
-:11:21: spec.source.catalog.channels[1]: ClusterExtension "e": Invalid value: "B": want lower-case letters, digits, hyphens and dots, a letter or digit around each dot
-:12:32: spec.source.catalog.upgradeConstraintPolicy: ClusterExtension "e": want CatalogProvided or SelfCertified, found "Ignore"`,
		},
		{
			"fields without contents",
			"kind: ClusterExtension\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: e}\nspec:\n  namespace: ns\n" +
				"  config: {configType: Inline, inline: {}}\n  source: {sourceType: Catalog, catalog: {packageName: p, version: ''}}\n",
			`-:6:40: spec.config.inline: ClusterExtension "e": want at least one field
-:7:68: spec.source.catalog.version: ClusterExtension "e": want a version range, or no version`,
		},
		{
			"no catalog",
			"kind: ClusterExtension\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: e}\nspec: {namespace: ns, source: {sourceType: Catalog}}\n",
			`-:4:31: spec.source.catalog: ClusterExtension "e": required for the sourceType Catalog`,
		},
		{
			"an availabilityMode", "kind: ClusterCatalog\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: c}\nspec: {availabilityMode: Off}\n",
			`-:4:26: spec.availabilityMode: `,
		},
		{
			"Lists inside each other", strings.Repeat(`{"kind": "List", "apiVersion": "v1", "items": [`, 10) + strings.Repeat("]}", 10) + "\n",
			`more than 8 Lists inside each other`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if strings.HasPrefix(text, "{") { // JSON
				text += `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "good"}}`
			} else {
				text += good
			}
			s, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(text)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got\n%v\nwant\n%s", err, tt.want)
			}
			if _, ok := s.Namespaces.Get("", "good"); !ok {
				t.Errorf("the rest was not read: %s", listing(s))
			}
		})
	}
}

func TestLoadMissingFile(t *testing.T) {
	_, err := cluster.Load(t.Context(), nil, declcfg.Source{Name: "x/a.yaml", FS: fstest.MapFS{}, File: "a.yaml"})
	if err == nil || err.Error() != "x/a.yaml: file does not exist" {
		t.Errorf("got %v", err)
	}
}

// subscriptions returns a List of n Subscriptions as a cluster prints them.
func subscriptions(n int) []byte {
	var text strings.Builder
	text.WriteString("apiVersion: v1\nitems:\n")
	for i := range n {
		fmt.Fprintf(&text, `- apiVersion: operators.coreos.com/v1alpha1
  kind: Subscription
  metadata:
    creationTimestamp: "2026-08-20T10:00:00Z"
    generation: 1
    managedFields:
    - apiVersion: operators.coreos.com/v1alpha1
      fieldsType: FieldsV1
      fieldsV1:
        f:spec:
          .: {}
          f:channel: {}
          f:name: {}
      manager: kubectl
      operation: Update
    name: s%d
    namespace: ns%d
  spec:
    channel: stable
    name: p%[1]d
    source: cat
    sourceNamespace: olm
  status:
    conditions:
    - lastTransitionTime: "2026-08-20T10:00:00Z"
      message: all available catalogsources are healthy
      reason: AllCatalogSourcesHealthy
      status: "False"
      type: CatalogSourcesUnhealthy
    installedCSV: p%[1]d.v1.0.0
    lastUpdated: "2026-08-20T10:00:00Z"
`, i, i%100)
	}
	text.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	return []byte(text.String())
}

// TestLoadManySubscriptions checks that the time to read many objects is linear in the size of the text.
func TestLoadManySubscriptions(t *testing.T) {
	const n = 10_000
	text := subscriptions(n)
	s, err := cluster.Load(t.Context(), nil, render.Text("-", text))
	if err != nil || s.Subscriptions.Len() != n {
		t.Fatalf("%d subscriptions, %v", s.Subscriptions.Len(), err)
	}
	last, _ := s.Subscriptions.Get("ns99", "s9999")
	if got, want := last.Pos.Line, 3+31*(n-1); got != want {
		t.Errorf("the last one is at line %d, want %d", got, want)
	}
}

// TestLoadManyProblems checks that the time to report problems is linear in the size of the text, even if all of it is
// on one line.
func TestLoadManyProblems(t *testing.T) {
	const n = 20_000
	text := "kind: List\napiVersion: v1\nitems: [" + strings.Repeat("{}, ", n) + "{}]\n"
	_, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(text)))
	if got := strings.Count(err.Error(), "\n") + 1; got != n+1 {
		t.Errorf("%d problems, want %d", got, n+1)
	}
}

// FuzzLoad checks that every text is either read or reported with a position.
func FuzzLoad(f *testing.F) {
	f.Add(subscriptions(2))
	f.Add([]byte(`{"kind": "List", "apiVersion": "v1", "items": [{"kind": "NamespaceList", "items": [{"metadata": null}]}, null]}`))
	f.Add([]byte("kind: ClusterExtension\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: e}\nspec: {source: {sourceType: Catalog}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := cluster.Load(t.Context(), nil, render.Text("-", text))
		joined, _ := err.(interface{ Unwrap() []error })
		if err != nil {
			for _, e := range joined.Unwrap() {
				if _, ok := errors.AsType[*declcfg.Error](e); !ok || !strings.HasPrefix(e.Error(), "-:") {
					t.Errorf("no place: %v", e)
				}
			}
		}
		for line := range strings.SplitSeq(listing(s), "\n") {
			if line != "" && !strings.HasPrefix(line, "-:") {
				t.Errorf("no place: %s", line)
			}
		}
	})
}

// TestUpdateStrategy reads update strategies with and without a registryPoll.
func TestUpdateStrategy(t *testing.T) {
	for strategy, want := range map[string]string{
		"{}": "", "null": "", "{registryPoll: null}": "", "{registryPoll: {interval: 1m}}": "1m0s", "{other: 1}": "",
		"{registryPoll: {}}": "15m0s", "{registryPoll: {interval: x}}": "15m0s",
	} {
		s, err := cluster.Load(t.Context(), nil, render.Text("s.yaml", []byte(
			"{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: c, namespace: olm}, "+
				"spec: {sourceType: grpc, updateStrategy: "+strategy+"}}")))
		if err != nil {
			t.Errorf("%s: %v", strategy, err)
			continue
		}
		o, _ := s.CatalogSources.Get("olm", "c")
		got := ""
		if u := o.Value.Spec.UpdateStrategy; u != nil && u.RegistryPoll != nil {
			got = u.Interval.Duration.String()
		}
		if got != want {
			t.Errorf("%s: polls every %q, want %q", strategy, got, want)
		}
	}
	for _, strategy := range []string{"x", "[]", "{registryPoll: x}", "{registryPoll: {interval: 1}}"} {
		_, err := cluster.Load(t.Context(), nil, render.Text("s.yaml", []byte(
			"{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: c, namespace: olm}, "+
				"spec: {sourceType: grpc, updateStrategy: "+strategy+"}}")))
		if err == nil || !strings.HasPrefix(err.Error(), "s.yaml:1:") {
			t.Errorf("%s: got %v", strategy, err)
		}
	}
}
