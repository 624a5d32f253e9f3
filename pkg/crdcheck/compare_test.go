package crdcheck

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
	"github.com/opm-toolchain/opm/pkg/problem"
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

// kiln returns a definition with one version whose field size has that schema.
func kiln(t testing.TB, size string) *apiextensionsv1.CustomResourceDefinition {
	return decode(t, head+`
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: `+size+`}}}}
`)
}

func messages(found []Finding) (all []string) {
	for _, f := range found {
		all = append(all, f.Message)
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
		for _, f := range Compare(graph.V1, kiln(t, row[0]), kiln(t, row[1]), nil) {
			rules[f.Rule] = true
			text := strings.TrimPrefix(f.Message, `validating upgrade for CRD "kilns.pottery.example": `)
			got = append(got, strings.TrimPrefix(text, "v1: ^.size: "))
		}
		if want := strings.TrimSpace(row[2]); strings.Join(got, " && ") != want {
			t.Errorf("%s\ngot  %q\nwant %q", line, got, want)
		}
		if found := Compare(graph.Classic, kiln(t, row[0]), kiln(t, row[1]), nil); found != nil {
			t.Errorf("%s: OLM Classic finds %q", line, messages(found))
		}
	}
	for _, r := range Rules().Group("OLM v1") {
		if !rules[r.Name] && !slices.Contains([]string{"v1-scope", "v1-stored-version-removal", "v1-existing-field-removal"},
			r.Name) {
			t.Errorf("no row breaks %s", r.Name)
		}
	}
}

// TestDefinitions changes definitions as a whole.
func TestDefinitions(t *testing.T) {
	const (
		text   = `schema: {openAPIV3Schema: {type: object, properties: {size: {type: string}}}}`
		number = `schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}`
		both   = `schema: {openAPIV3Schema: {type: object, properties: {size: {type: string}, glaze: {type: string}}}}`
		v1     = `{name: v1, served: true, storage: true, ` + text + `}`
		alpha  = `{name: v1alpha1, served: true, storage: false, ` + text + `}`
		hook   = `, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}`
	)
	const prefix = `validating upgrade for CRD "kilns.pottery.example": `
	tests := []struct {
		name, before, after string // specs without group and names
		classic, v1         []string
	}{
		{name: "nothing", before: `versions: [` + v1 + `]`, after: `versions: [` + v1 + `]`},
		{
			name: "scope", before: `scope: Namespaced, versions: [` + v1 + `]`, after: `scope: Cluster, versions: [` + v1 + `]`,
			v1: []string{prefix + `scope: scope changed : "Namespaced" -> "Cluster"`},
		},
		{
			name: "scope back", before: `scope: Cluster, versions: [` + v1 + `]`, after: `scope: Namespaced, versions: [` + v1 + `]`,
			v1: []string{prefix + `scope: scope changed : "Cluster" -> "Namespaced"`},
		},
		{
			name:    "stored version removed",
			before:  `versions: [` + v1 + `]`,
			after:   `versions: [{name: v2, served: true, storage: true, ` + text + `}]`,
			classic: []string{`risk of data loss updating "kilns.pottery.example": new CRD removes version v1 that is listed as a stored version on the existing CRD`},
			v1:      []string{prefix + `storedVersionRemoval: stored versions removed : [v1]`},
		},
		{
			name: "another version removed", before: `versions: [` + v1 + `, ` + alpha + `]`, after: `versions: [` + v1 + `]`,
		},
		{name: "version added", before: `versions: [` + v1 + `]`, after: `versions: [` + v1 + `, ` + alpha + `]`},
		{
			name:   "field removed",
			before: `versions: [{name: v1, served: true, storage: true, ` + both + `}]`,
			after:  `versions: [` + v1 + `]`,
			v1:     []string{prefix + `existingFieldRemoval: removed field : v1.^.glaze`},
		},
		{
			name: "field removed with all in it, and another one that begins alike",
			before: `versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
				a: {type: object, properties: {b: {type: array, items: {type: string}}}}, ab: {type: string}}}}}]`,
			after: `versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
				ab: {type: integer}}}}}]`,
			v1: []string{
				prefix + `existingFieldRemoval: removed field : v1.^.a`,
				prefix + `v1: ^.ab: type: type changed : "string" -> "integer"`,
			},
		},
		{
			name:   "field added",
			before: `versions: [` + v1 + `]`,
			after:  `versions: [{name: v1, served: true, storage: true, ` + both + `}]`,
		},
		{
			name: "no versions", before: `versions: [` + v1 + `]`, after: `versions: []`,
			classic: []string{"could not find any versions in the new CRD"},
			v1:      []string{prefix + `storedVersionRemoval: stored versions removed : [v1]`},
		},
		{name: "first versions", before: `versions: []`, after: `versions: [` + v1 + `]`},
		{
			name: "no schema", before: `versions: [` + v1 + `]`, after: `versions: [{name: v1, served: true, storage: true}]`,
			v1: []string{prefix + `existingFieldRemoval: removed field : v1.^`},
		},
		{
			name:   "served versions differ",
			before: `versions: [` + v1 + `]`,
			after:  `versions: [` + v1 + `, {name: v1alpha1, served: true, storage: false, ` + number + `}]`,
			v1:     []string{prefix + `v1alpha1 -> v1: ^.size: type: type changed : "integer" -> "string"`},
		},
		{
			name:   "a version that is not served",
			before: `versions: [` + v1 + `]`,
			after:  `versions: [` + v1 + `, {name: v1alpha1, served: false, storage: false, ` + number + `}]`,
		},
		{
			name:   "served versions differed before",
			before: `versions: [` + v1 + `, {name: v1alpha1, served: true, storage: false, ` + number + `}]`,
			after:  `versions: [` + v1 + `, {name: v1alpha1, served: true, storage: false, ` + number + `}], preserveUnknownFields: false`,
		},
		{
			name:   "served versions that a webhook converts",
			before: `versions: [` + v1 + `]`,
			after:  `versions: [` + v1 + `, {name: v1alpha1, served: true, storage: false, ` + number + `}]` + hook,
		},
		{
			name:   "a webhook does not allow changes of a version",
			before: `versions: [` + v1 + `]`,
			after:  `versions: [{name: v1, served: true, storage: true, ` + number + `}]` + hook,
			v1:     []string{prefix + `v1: ^.size: type: type changed : "string" -> "integer"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := withSpec(t, tt.before), withSpec(t, tt.after)
			if got := messages(Compare(graph.Classic, before, after, nil)); !slices.Equal(got, tt.classic) {
				t.Errorf("OLM Classic:\ngot  %q\nwant %q", got, tt.classic)
			}
			if got := messages(Compare(graph.V1, before, after, nil)); !slices.Equal(got, tt.v1) {
				t.Errorf("OLM v1:\ngot  %q\nwant %q", got, tt.v1)
			}
		})
	}
}

// withSpec decodes a definition with that in its spec.
func withSpec(t testing.TB, spec string) *apiextensionsv1.CustomResourceDefinition {
	return decode(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec: {group: pottery.example, names: {kind: Kiln, plural: kilns}, `+spec+`}
`)
}

// TestStoredVersions has versions in the status that the storage version says nothing of.
func TestStoredVersions(t *testing.T) {
	before := withSpec(t, `versions: [{name: v1, served: true, storage: true}, {name: v1alpha1, served: false, storage: false}]`)
	after := withSpec(t, `versions: [{name: v1, served: true, storage: true}]`)
	if found := Compare(graph.Classic, before, after, nil); found != nil {
		t.Errorf("found %q", messages(found))
	}
	before.Status.StoredVersions = []string{"v1alpha1", "v1"}
	for _, olm := range []graph.Semantics{graph.Classic, graph.V1} {
		if found := Compare(olm, before, after, nil); len(found) != 1 || !strings.Contains(found[0].Message, "v1alpha1") {
			t.Errorf("%s found %q", olm, messages(found))
		}
	}
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

func TestResources(t *testing.T) {
	const (
		text = `{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: string}}}}}`
		long = `{name: v1, served: true, storage: true,
			schema: {openAPIV3Schema: {type: object, properties: {size: {type: string, minLength: 3}}}}}`
		v2   = `{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, required: [glaze]}}}`
		hook = `, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}`
	)
	resources := []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "pottery.example/v1", "kind": "Kiln",
			"metadata": map[string]any{"namespace": "studio", "name": "small"}, "size": "s",
		}},
		{Object: map[string]any{"apiVersion": "pottery.example/v1", "kind": "Kiln", "size": "long"}},
	}
	const refused = `error validating existing CRs against new CRD's schema for "kilns.pottery.example": ` +
		`error validating pottery.example/v1, Kind=Kiln "studio/small": updated validation is too restrictive: ` +
		`size: Invalid value: "s": size in body should be at least 3 chars long`
	tests := []struct {
		name, before, after string
		want                []string
		severity            problem.Severity
	}{
		{name: "too short", before: text, after: long, want: []string{refused}},
		{name: "accepted again", before: long, after: text},
		{name: "with a webhook", before: text, after: long + "]" + hook, want: []string{refused}, severity: problem.Warning},
		{name: "a new version", before: text, after: text + ", " + v2},
		{
			name: "a reference", before: text, after: strings.Replace(text, "type: string", "$ref: '#/x'", 1),
			want: []string{`error validating existing CRs against new CRD's schema for "kilns.pottery.example": $ref is not supported`},
		},
		{
			name: "a served version", before: text + ", " + strings.Replace(v2, "required: [glaze]", "", 1), after: text + ", " + v2,
			want: []string{
				strings.NewReplacer("example/v1", "example/v2", `size: Invalid value: "s": size in body should be at least 3 chars long`,
					"glaze: Required value").Replace(refused),
				strings.NewReplacer("example/v1", "example/v2", `size: Invalid value: "s": size in body should be at least 3 chars long`,
					"glaze: Required value", "studio/small", "").Replace(refused),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(tt.after, "]"+hook) {
				tt.after += "]"
			}
			found := Compare(graph.Classic, withSpec(t, "versions: ["+tt.before+"]"), withSpec(t, "versions: ["+tt.after), resources)
			if got := messages(found); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			for _, f := range found {
				if f.Rule != "classic-resource" || f.Severity != tt.severity {
					t.Errorf("rule %q, severity %q", f.Rule, f.Severity)
				}
			}
			if found := Compare(graph.V1, withSpec(t, "versions: ["+tt.before+"]"), withSpec(t, "versions: ["+tt.before+"]"),
				resources); found != nil {
				t.Errorf("OLM v1 found %q", messages(found))
			}
		})
	}
}
