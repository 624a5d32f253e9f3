package updatecheck

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/graph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// decode decodes a definition in YAML.
func decode(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	crd, err := bundle.DecodeCRD(raw)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

const head = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec:
  group: pottery.example
  names: {kind: Kiln, plural: kilns}
`

// kiln returns a definition with one version and this schema for the field size.
func kiln(t testing.TB, size string) *apiextensionsv1.CustomResourceDefinition {
	return decode(t, head+`
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: `+size+`}}}}
`)
}

// messages returns the messages of findings, without the common prefix of OLM v1.
func messages(found []Finding) (all []string) {
	for _, f := range found {
		all = append(all, strings.TrimPrefix(f.Message, `validating upgrade for CRD "kilns.pottery.example": `))
	}
	return all
}

func TestProperties(t *testing.T) {
	table, err := os.ReadFile("testdata/properties.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		row := strings.Split(strings.TrimSpace(line), "|")
		if len(row) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		var got []string
		found := Compare(graph.V1, kiln(t, row[0]), kiln(t, row[1]), nil)
		for i, text := range messages(found) {
			rules[found[i].Rule.Name] = true
			got = append(got, strings.TrimPrefix(text, "v1: ^.size: "))
		}
		if want := strings.TrimSpace(row[2]); strings.Join(got, " && ") != want {
			t.Errorf("%s\ngot  %q\nwant %q", line, got, want)
		}
		if found := Compare(graph.Classic, kiln(t, row[0]), kiln(t, row[1]), nil); found != nil {
			t.Errorf("%s: OLM Classic finds %q", line, messages(found))
		}
	}
	for _, r := range v1Rules.Rules {
		if !rules[r.Name] && !slices.Contains([]string{"v1-scope", "v1-stored-version-removal", "v1-existing-field-removal"},
			r.Name) {
			t.Errorf("no row breaks %s", r.Name)
		}
	}
}

// TestDefinitions compares the definitions in testdata/definitions.yaml.
func TestDefinitions(t *testing.T) {
	text, err := os.ReadFile("testdata/definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []struct {
			Name          string
			Before, After map[string]any // specs
			Stored        []string       // versions
			Resources     []map[string]any
			Warning       bool // OLM Classic's findings are warnings
			Classic, V1   []string
			Server        *string // the error of the API server; nil if the definitions are not complete
		}
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		t.Run(row.Name, func(t *testing.T) {
			before, after := withSpec(t, row.Before), withSpec(t, row.After)
			before.Status.StoredVersions = row.Stored
			var resources []*unstructured.Unstructured
			for _, r := range row.Resources {
				resources = append(resources, &unstructured.Unstructured{Object: r})
			}
			found := Compare(graph.Classic, before, after, resources)
			if got := messages(found); !slices.Equal(got, row.Classic) {
				t.Errorf("OLM Classic:\ngot  %q\nwant %q", got, row.Classic)
			}
			if got := slices.ContainsFunc(found, Finding.refuses); got != (row.Classic != nil && !row.Warning) {
				t.Errorf("OLM Classic refuses: %t", got)
			}
			if got := messages(Compare(graph.V1, before, after, resources)); !slices.Equal(got, row.V1) {
				t.Errorf("OLM v1:\ngot  %q\nwant %q", got, row.V1)
			}
			if row.Server == nil {
				return
			}
			got := ""
			if err := refusedUpdate(before, after, nil); err != nil {
				got = err.Error()
			}
			if got != *row.Server {
				t.Errorf("API server:\ngot  %s\nwant %s", got, *row.Server)
			}
		})
	}
}

// withSpec returns a definition with this spec.
func withSpec(t testing.TB, spec map[string]any) *apiextensionsv1.CustomResourceDefinition {
	more, err := yaml.Marshal(map[string]any{"spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, head+strings.TrimPrefix(string(more), "spec:\n"))
}

func TestV1Beta1(t *testing.T) {
	const beta = `
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec:
  group: pottery.example
  names: {kind: Kiln, plural: kilns}
  version: v1alpha1
  validation: {openAPIV3Schema: {type: object, properties: {size: {type: string}}}}
`
	before, after := decode(t, beta), kiln(t, "{type: string}")
	want := []string{`risk of data loss updating "kilns.pottery.example": new CRD removes version v1alpha1 ` +
		`that is listed as a stored version on the existing CRD`}
	if got := messages(Compare(graph.Classic, before, after, nil)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if found := Compare(graph.V1, after, before, nil); found != nil {
		t.Errorf("OLM v1 does not look at v1beta1, found %q", messages(found))
	}
	if schema := before.Spec.Versions[0].Schema; schema == nil || schema.OpenAPIV3Schema.Properties["size"].Type != "string" {
		t.Errorf("the schema is lost: %v", before.Spec.Versions)
	}
}
