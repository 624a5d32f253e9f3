package rbac

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// catalog returns the index of a catalog with a package of each property.
func catalog(t *testing.T, properties ...string) *declcfg.Index {
	t.Helper()
	var text strings.Builder
	for i, p := range properties {
		fmt.Fprintf(&text, `{"schema":"olm.package","name":"p%[1]d","defaultChannel":"stable"}
{"schema":"olm.channel","package":"p%[1]d","name":"stable","entries":[{"name":"p.v1"},{"name":"p.v2","replaces":"p.v1"}]}
{"schema":"olm.bundle","package":"p%[1]d","name":"p.v1","image":"x"}
{"schema":"olm.bundle","package":"p%[1]d","name":"p.v2","image":"x","properties":[%[2]s]}
`, i, p)
	}
	index, err := declcfg.ReadIndex(t.Context(), declcfg.Source{
		Name: "catalog", FS: fstest.MapFS{"c.json": {Data: []byte(text.String())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// property returns an olm.bundle.object.
func property(t *testing.T, csv *v1alpha1.ClusterServiceVersion) string {
	t.Helper()
	text, err := json.Marshal(csv)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"type":"olm.bundle.object","value":{"data":%q}}`, base64.StdEncoding.EncodeToString(text))
}

// What is said of operators of a catalog, and of installed ones.
func TestWho(t *testing.T) {
	kiln := read(t, "testdata/accounts.yaml")
	kiln.Kind = v1alpha1.ClusterServiceVersionKind
	kiln.Spec.InstallModes = []v1alpha1.InstallMode{{Type: v1alpha1.InstallModeTypeAllNamespaces, Supported: true}}
	other := kiln.DeepCopy()
	other.Spec.InstallModes[0].Supported = false
	other.Spec.APIServiceDefinitions.Owned, other.Spec.CustomResourceDefinitions.Owned = nil, nil
	rules := &other.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules[0]
	rules.APIGroups, rules.Resources, rules.ResourceNames = []string{"apps", ""}, []string{"`x`\n"}, []string{"a", "*b*"}
	script := kiln.DeepCopy()
	script.Spec.InstallStrategy.StrategyName = "script"
	const metadata = `{"type":"olm.csv.metadata","value":{"installModes":[{"type":"AllNamespaces","supported":true}],
"crdDescriptions":{"owned":[{"name":"kilns.example.com","version":"v1","kind":"Kiln"}]},
"apiServiceDefinitions":{"owned":[{"name":"glazes","group":"glaze.example.com","version":"v1beta1","kind":"Glaze"}]}}}`
	operators, err := OfCatalog(catalog(t, property(t, kiln), property(t, other), metadata, property(t, script),
		`{"type":"olm.bundle.object","value":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, targets := range []string{"", "a,operators", "b"} {
		installed := kiln.DeepCopy()
		installed.Annotations = map[string]string{operatorsv1.OperatorGroupTargetsAnnotationKey: targets}
		operators = append(operators, Of(installed))
	}
	var text, marked strings.Builder
	if err := WriteText(&text, operators); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&marked, operators); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(operators)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/who.txt", text.String())
	golden(t, "testdata/who.md", marked.String())
	golden(t, "testdata/who.yaml", string(data))
}

// Packages that are not valid are ignored.
func TestWhoIsNotThere(t *testing.T) {
	for _, text := range []string{
		`{"schema":"olm.bundle","package":"p","name":"p.v1","image":"x"}`,
		`{"schema":"olm.package","name":"p","defaultChannel":"none"}`,
		`{"schema":"olm.package","name":"p","defaultChannel":"c"}{"schema":"olm.channel","package":"p","name":"c",
"entries":[{"name":"a","replaces":"b"},{"name":"b","replaces":"a"}]}`,
		`{"schema":"olm.package","name":"p","defaultChannel":"c"}{"schema":"olm.channel","package":"p","name":"c",
"entries":[{"name":"a"}]}`,
	} {
		index, err := declcfg.ReadIndex(t.Context(), declcfg.Source{
			Name: "catalog", FS: fstest.MapFS{"c.json": {Data: []byte(text)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if operators, err := OfCatalog(index); len(operators) > 0 || err != nil {
			t.Errorf("%s: got %v, %v", text, operators, err)
		}
	}
}

// A published catalog either has the permissions of an operator, or it is said that it has not.
func TestWhoOfPublishedCatalogs(t *testing.T) {
	for _, dir := range shared.Glob(t, "data/catalogs/*") {
		index, err := declcfg.ReadIndex(t.Context(), declcfg.Source{Name: dir, FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		operators, err := OfCatalog(index)
		if err != nil || len(operators) != len(index.Packages()) {
			t.Errorf("%s: %d operators, error %v", dir, len(operators), err)
		}
		for _, o := range operators {
			if (len(o.Grants) > 0) == (o.NotEvaluable != "") {
				t.Errorf("%s: %d grants, not evaluable: %q", o.Name, len(o.Grants), o.NotEvaluable)
			}
		}
	}
}
