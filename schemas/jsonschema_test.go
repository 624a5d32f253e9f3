package schemas

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/schematest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// compiled returns the JSON Schema of a file.
func compiled(t testing.TB, file string) *jsonschema.Schema {
	t.Helper()
	text, err := JSONSchema(file)
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, text, "")
}

func TestJSONSchemaOfPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	schema := compiled(t, "catalog")
	for _, o := range publishedCatalogs(t) {
		if err := schematest.Validate(schema, o.raw); err != nil {
			t.Errorf("%s: %v", o.file, err)
		}
	}
}

func TestJSONSchemaOfTemplates(t *testing.T) {
	schema := compiled(t, "template")
	files := shared.Glob(t, "data/catalog-templates/*/*")
	if len(files) < 100 {
		t.Fatalf("only %d templates", len(files))
	}
	for _, file := range files {
		valid(t, schema, file)
	}
}

func TestJSONSchemaOfExamples(t *testing.T) {
	for file, name := range map[string]string{
		"crafts.yaml": "compose.yaml", "templates/basic.yaml": "template", "templates/semver.yaml": "template",
		"templates/targets.yaml": "targets.yaml",
	} {
		valid(t, compiled(t, name), filepath.Join("..", "examples", file))
	}
}

func valid(t *testing.T, schema *jsonschema.Schema, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values, err := split(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		if err := schematest.Validate(schema, value); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestJSONSchemaOfFiles(t *testing.T) {
	const component = "schema: olm.composite\ncomponents:\n- {name: one, strategy: {template: {schema: %s, config: {output: c}}}}"
	for _, test := range []struct {
		file, text string
		valid      bool
	}{
		{"opm.yaml", "{}", true},
		{"opm.yaml", "rules: {z-release: off, channel-head: error}\npackages: {kiln: {rules: {z-release: info}}}", true},
		{"opm.yaml", "rules: {z-release: fatal}", false},
		{"opm.yaml", "packages: {kiln: {rule: {}}}", false},
		{"opm.yaml", "baseline: known.json\nschemas: [ours.cue]\npolicy: {registries: [quay.io], largestSkip: {minor: 1}}", true},
		{"opm.yaml", "policy: {largestSkip: {minor: -1}}", false},
		{"opm.yaml", "polcy: {}", false},
		{"opm.yaml", "target: ocp=4.16\ntargets: {v4.18: ocp=v4.18, k: kubernetes=1.31}", true},
		{"opm.yaml", "target: '4.16'", false},

		{"compose.yaml", "name: crafts\nreferences: [{name: kiln, image: kiln}]\nconflicts: last", true},
		{"compose.yaml", "name: crafts\nreferences: []", false},
		{"compose.yaml", "name: crafts\nreferences: [{name: kiln}]", false},
		{"compose.yaml", "name: ../crafts\nreferences: [{name: kiln, image: kiln}]", false},
		{"compose.yaml", "name: crafts\nreferences: [{name: kiln, image: kiln}]\nconflicts: merge", false},

		{"targets.yaml", "targets: [{name: v4.16, target: ocp=4.16}]", true},
		{"targets.yaml", "targets: [{name: v4.16, bundleFormat: objects}]", false},
		{"targets.yaml", "targets: []", false},

		{"template", "Schema: olm.semver\nGenerateMajorChannels: true\nStable: {Bundles: [{Image: i}]}\nFast:", true},
		{"template", "schema: olm.semver\nstable: {bundles: [{imge: i}]}", false},
		{"template", "schema: olm.template.basic\nentries: [{schema: olm.bundle, image: i, package: p}]", false},
		{"template", "schema: olm.template.basic\nentries: [{schema: olm.channel}]", false},
		{"template", "schema: olm.template.substitutes\nsubstitutions: [{name: i, base: b}]", true},
		{"template", "schema: olm.template.substitutes\nsubstitutions: [{name: i}]", false},
		{"template", fmt.Sprintf(component, "olm.builder.raw"), true},
		{"template", fmt.Sprintf(component, "olm.builder.row"), false},
		{"template", "schema: olm.composite.catalogs\ncatalogs: [{name: one, destination: {workingDir: d}, builders: []}]", true},
		{"template", "schema: olm.template", false},
		{"template", "stable: {bundles: [{image: i}]}", false},
	} {
		value, err := yaml.YAMLToJSON([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(compiled(t, test.file), value); (err == nil) != test.valid {
			t.Errorf("%s:\n%s\n%v", test.file, test.text, err)
		}
	}
}
