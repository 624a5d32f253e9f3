package audit

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// catalog returns the index of a catalog with a package of each property.
func catalog(t *testing.T, properties ...string) *resolve.Catalog {
	t.Helper()
	var text strings.Builder
	for i, p := range properties {
		fmt.Fprintf(&text, `{"schema":"olm.package","name":"p%[1]d","defaultChannel":"stable"}
{"schema":"olm.channel","package":"p%[1]d","name":"stable","entries":[{"name":"p.v1"},{"name":"p.v2","replaces":"p.v1"}]}
{"schema":"olm.bundle","package":"p%[1]d","name":"p.v1","image":"x"}
{"schema":"olm.bundle","package":"p%[1]d","name":"p.v2","image":"x","properties":[%[2]s]}
`, i, p)
	}
	return readCatalog(t, fstest.MapFS{"c.json": {Data: []byte(text.String())}})
}

func readCatalog(t *testing.T, fsys fs.FS) *resolve.Catalog {
	t.Helper()
	c, err := resolve.ReadCatalog(t.Context(), declcfg.Source{Name: "catalog", FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	c.Name = "crafts"
	return c
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

// TestWho compares the permissions of operators of a catalog and of installed operators with golden files.
func TestWho(t *testing.T) {
	text, err := os.ReadFile("../rbac/testdata/accounts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kiln := new(v1alpha1.ClusterServiceVersion)
	if err := yaml.Unmarshal(text, kiln); err != nil {
		t.Fatal(err)
	}
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
	operators := OfCatalog(catalog(t, property(t, kiln), property(t, other), metadata, property(t, script),
		`{"type":"olm.bundle.object","value":[]}`, `{"type":"olm.bundle.object","value":{"data":"e2tpbmQ6IFNlcnZpY2UsIGFwaVZlcnNpb246IHYxLCBtZXRhZGF0YToge25hbWU6IHh9fQ=="}}`))
	var state cluster.State
	for name, targets := range map[string]string{"all": "", "two": "a,operators", "one": "b", "copy": "c", "new": "new"} {
		installed := kiln.DeepCopy()
		installed.Name = name
		switch name {
		case "copy":
			installed.Labels = map[string]string{v1alpha1.CopiedLabelKey: "other"}
		case "new":
		default:
			installed.Annotations = map[string]string{operatorsv1.OperatorGroupTargetsAnnotationKey: targets}
		}
		state.ClusterServiceVersions.Put(cluster.Object[*v1alpha1.ClusterServiceVersion]{Value: installed})
	}
	operators = append(operators, OfState(&state)...)
	var plain, marked strings.Builder
	if err := ReportOf(operators).Text(&plain); err != nil {
		t.Fatal(err)
	}
	if err := ReportOf(operators).Markdown(&marked); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(operators)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/who.txt", plain.String())
	golden.Compare(t, "testdata/who.md", marked.String())
	golden.Compare(t, "testdata/who.yaml", string(data))
}

// Packages that are not valid are ignored.
func TestWhoIsNotThere(t *testing.T) {
	for _, text := range []string{
		`{"schema":"olm.package","name":"p","defaultChannel":"none"}`,
		`{"schema":"olm.package","name":"p","defaultChannel":"c"}{"schema":"olm.channel","package":"p","name":"c",
"entries":[{"name":"a","replaces":"b"},{"name":"b","replaces":"a"}]}`,
		`{"schema":"olm.package","name":"p","defaultChannel":"c"}{"schema":"olm.channel","package":"p","name":"c",
"entries":[{"name":"a"}]}`,
	} {
		if operators := OfCatalog(readCatalog(t, fstest.MapFS{"c.json": {Data: []byte(text)}})); len(operators) > 0 {
			t.Errorf("%s: got %v", text, operators)
		}
	}
}

// Bundles that were rendered alone have no package.
func TestWhoOfBundle(t *testing.T) {
	text := `{"schema":"olm.bundle","package":"p","name":"p.v1","image":"x"}{"schema":"olm.bundle","package":"p","name":"p.v2"}`
	operators := OfCatalog(readCatalog(t, fstest.MapFS{"c.json": {Data: []byte(text)}}))
	if len(operators) != 2 || operators[1].Name != "p.v2" {
		t.Errorf("got %v", operators)
	}
}

// The permissions of an operator of a published catalog are either known or not evaluable.
func TestWhoOfPublishedCatalogs(t *testing.T) {
	for _, dir := range shared.Catalogs(t) {
		c := readCatalog(t, os.DirFS(dir))
		operators := OfCatalog(c)
		if len(operators) != len(c.Index.Packages()) {
			t.Errorf("%s: %d operators", dir, len(operators))
		}
		for _, o := range operators {
			if (len(o.Grants) > 0) == (o.NotEvaluable != "") {
				t.Errorf("%s: %d grants, not evaluable: %q", o.Name, len(o.Grants), o.NotEvaluable)
			}
		}
	}
}
