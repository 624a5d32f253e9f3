package cluster_test

import (
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// written returns a directory with the files of a State.
func written(t *testing.T, s *cluster.State) fs.FS {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	if err := s.Write(root); err != nil {
		t.Fatal(err)
	}
	return root.FS()
}

// TestWrite checks that written objects are read again unchanged, both as the State's types and as types with all
// fields.
func TestWrite(t *testing.T) {
	s := load(t, everyKind)
	files := written(t, s)
	again, err := cluster.Load(t.Context(), nil, declcfg.Source{Name: "dir", FS: files})
	if err != nil {
		t.Fatal(err)
	}
	for o := range s.All() {
		copied, ok := again.Get(cluster.KindOf(o.Value), o.Value.GetNamespace(), o.Value.GetName())
		if !ok || !reflect.DeepEqual(o.Value, copied.Value) {
			t.Errorf("%s: wrote %+v, read %+v", o.Pos, o.Value, copied.Value)
		}
	}
	for o := range again.All() {
		text, err := fs.ReadFile(files, strings.TrimPrefix(o.Pos.File, "dir/"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(fmt.Sprintf("%T", o.Value), "*cluster.") && !strings.HasSuffix(fmt.Sprintf("%T", o.Value), "APIService") {
			continue // it keeps unknown fields
		}
		if err := yaml.UnmarshalStrict(text, reflect.New(reflect.TypeOf(o.Value).Elem()).Interface()); err != nil {
			t.Errorf("%s: %v", o.Pos.File, err)
		}
	}
}

// TestWriteZeros checks that fields that are 0 or false are written if they were read, and only then.
func TestWriteZeros(t *testing.T) {
	const source = `{kind: CatalogSource, apiVersion: operators.coreos.com/v1alpha1, metadata: {name: a, namespace: ns},
  spec: {sourceType: grpc, %s}}`
	for fields, want := range map[string]bool{"priority: 0": true, "image: x": false, "priority: 1": false} {
		s := load(t, fmt.Sprintf(source, fields))
		text, err := fs.ReadFile(written(t, s), "namespaces/ns/operators.coreos.com/catalogsource/a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "priority: 0\n") != want {
			t.Errorf("%s: got\n%s", fields, text)
		}
		wrote, _ := s.Clone().CatalogSources.Get("ns", "a")
		if read, _ := load(t, string(text)).CatalogSources.Get("ns", "a"); !reflect.DeepEqual(read.Zeros, wrote.Zeros) {
			t.Errorf("%s: wrote the zeros %v, read %v", fields, wrote.Zeros, read.Zeros)
		}
	}
	group := load(t, `{kind: OperatorGroup, apiVersion: operators.coreos.com/v1, metadata: {name: a, namespace: ns},
  spec: {staticProvidedAPIs: false}}`)
	text, err := fs.ReadFile(written(t, group), "namespaces/ns/operators.coreos.com/operatorgroup/a.yaml")
	if err != nil || !strings.Contains(string(text), "staticProvidedAPIs: false\n") {
		t.Errorf("got\n%s, %v", text, err)
	}
}

func TestWriteFiles(t *testing.T) {
	long := strings.Repeat("a", 253)
	files := written(t, load(t, `{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: "system:a"}}
---
{kind: ConfigMap, apiVersion: v1, metadata: {name: `+long+`, namespace: ns}, data: {a: "1", b: "true"}}
---
{kind: ClusterCatalog, apiVersion: olm.operatorframework.io/v1, metadata: {name: a}, spec: {later: {b: 1}, priority: 7,
  source: {image: {ref: "x:1", pollIntervalMinutes: 10}, type: Image}}, status: {lastUnpacked: "2026", resolvedSource: {type: Image}}}
---
{kind: ClusterExtension, apiVersion: olm.operatorframework.io/v1, metadata: {name: e}, spec: {namespace: ns, serviceAccount: {name: sa},
  source: {sourceType: Catalog, catalog: {packageName: p, later: 1}, later: 2}}, status: {install: {bundle: {name: p.v1, version: 1.0.0, later: 3}, later: 4}}}
`))
	var names []string
	var text strings.Builder
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
			content, err := fs.ReadFile(files, name)
			if strings.Contains(name, "olm.operatorframework.io") {
				text.Write(content)
			}
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `cluster-scoped-resources/olm.operatorframework.io/clustercatalog/a.yaml
cluster-scoped-resources/olm.operatorframework.io/clusterextension/e.yaml
cluster-scoped-resources/rbac.authorization.k8s.io/clusterrole/system:a.yaml
namespaces/ns/core/configmap/aaaaaaaaaaaaaaaaaaaa`
	if got := strings.Join(names, "\n"); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s…", got, want)
	}
	const content = `apiVersion: olm.operatorframework.io/v1
kind: ClusterCatalog
metadata:
  name: a
spec:
  later:
    b: 1
  priority: 7
  source:
    image:
      pollIntervalMinutes: 10
      ref: x:1
    type: Image
status:
  lastUnpacked: "2026"
  resolvedSource:
    type: Image
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata:
  name: e
spec:
  namespace: ns
  serviceAccount:
    name: sa
  source:
    catalog:
      later: 1
      packageName: p
    later: 2
    sourceType: Catalog
status:
  install:
    bundle:
      later: 3
      name: p.v1
      version: 1.0.0
    later: 4
`
	if got := text.String(); got != content {
		t.Errorf("got\n%s\nwant\n%s", got, content)
	}
}

// TestWriteStrangeNames checks that no name leads to a file outside the directory, or overwrites another file.
func TestWriteStrangeNames(t *testing.T) {
	for _, manifest := range []string{
		`{kind: A, apiVersion: x.io/v1, metadata: {name: ../../a}}`,
		`{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ..}}`,
		`{kind: ../../../A, apiVersion: x.io/v1, metadata: {name: a}}`,
		`{kind: A, apiVersion: ../v1, metadata: {name: a}}`,
		`{kind: A, apiVersion: x.io/v1, metadata: {name: '..\..\a'}}`,
	} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := load(t, manifest).Write(root); err == nil || !strings.Contains(err.Error(), "no file can have the name") {
			t.Errorf("%s: got %v", manifest, err)
		}
	}
}

// TestWriteOneFile checks that an object does not overwrite another one whose file has the same name.
func TestWriteOneFile(t *testing.T) {
	for manifests, want := range map[string]string{
		"{kind: Kiln, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}}\n---\n" +
			"{kind: KILN, apiVersion: x.io/v2, metadata: {name: a, namespace: ns}}": `x.io/v1 Kiln "ns/a" of -:1:1 would overwrite ` +
			`x.io/v2 KILN "ns/a" of -:3:1 in the file namespaces/ns/x.io/kiln/a.yaml`,
		"{kind: ConfigMap, apiVersion: v1, metadata: {name: a, namespace: ns}}\n---\n" +
			"{kind: ConfigMap, apiVersion: core/v1, metadata: {name: a, namespace: ns}}": `core/v1 ConfigMap "ns/a" of -:3:1 would ` +
			`overwrite v1 ConfigMap "ns/a" of -:1:1 in the file namespaces/ns/core/configmap/a.yaml`,
		"{kind: Kiln, apiVersion: x.io/v1, metadata: {name: a}}\n---\n" +
			"{kind: kiln, apiVersion: X.io/v1, metadata: {name: a}}": `would overwrite`,
	} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := load(t, manifests).Write(root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", manifests, err, want)
		}
	}
}

func TestDiff(t *testing.T) {
	const first = `{kind: Namespace, apiVersion: v1, metadata: {name: a, labels: {x/y: "1", z: "2"}}}`
	for _, tt := range []struct{ name, before, after, want string }{
		{"the same", first, first, ""},
		{"created", "{kind: Namespace, apiVersion: v1, metadata: {name: b}}", first,
			"Namespace a: created\nNamespace b: deleted\n"},
		{"labels", first, `{kind: Namespace, apiVersion: v1, metadata: {name: a, labels: {x/y: "3", w: "4"}}}`,
			"Namespace a: updated\n  metadata.labels.w: none -> \"4\"\n  metadata.labels.x/y: \"1\" -> \"3\"\n  metadata.labels.z: \"2\" -> none\n"},
		{"lists", "{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, spec: [1, {a: 1, b: 9007199254740993}, 3, 4]}",
			"{kind: A, apiVersion: x.io/v1, metadata: {name: a, namespace: ns}, spec: [1, {b: 9007199254740992, a: 1}, {}]}",
			"A ns/a: updated\n  spec[1].b: 9007199254740993 -> 9007199254740992\n  spec[2]: 3 -> {}\n  spec[3]: 4 -> none\n"},
		{"null and none", "{kind: A, apiVersion: x.io/v1, metadata: {name: a}, spec: {a: null}}",
			"{kind: A, apiVersion: x.io/v1, metadata: {name: a}, spec: {}}", "A a: updated\n  spec.a: null -> none\n"},
		{"kinds of one name", "{kind: A, apiVersion: x.io/v1, metadata: {name: a}}", "{kind: A, apiVersion: y.io/v1, metadata: {name: a}}",
			"A a: deleted\nA a: created\n"},
		{"text that is not for a terminal", "{kind: A, apiVersion: x.io/v1, metadata: {name: a}}",
			`{kind: A, apiVersion: x.io/v1, metadata: {name: a}, "\e]0;x\a": "` + strings.Repeat("y", 300) + `"}`,
			"A a: updated\n  \\x1b]0;x\\a: none -> \"" + strings.Repeat("y", 30) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, err := cluster.Diff(load(t, tt.before), load(t, tt.after))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			if err := cluster.WriteDiff(&got, all); err != nil {
				t.Fatal(err)
			}
			if beginning, cut := strings.CutSuffix(tt.want, "…"); got.String() != tt.want && !(cut && strings.HasPrefix(got.String(), beginning)) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), tt.want)
			}
		})
	}
}
