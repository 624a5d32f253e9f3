package main

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/testing/schematest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/schemas"
)

// printingJSON are command lines that print each of the outputs, with -o json, or write it to FILE, in a copy of the
// examples.
var printingJSON = map[string][]string{
	"auth-explain":    {"auth explain quay.io/example/kiln:v1", "auth explain quay.io/example/kiln:v1 --authfile auth.json"},
	"build":           {"build catalog --base-image scratch --archive catalog.tar"},
	"bundle-validate": {"bundle validate bundle", "bundle validate bundle --optional-validators operatorhub"},
	"check-updates":   {"check-updates bundle registry.example/pottery/kiln-bundle:v2.0.0", "check-updates catalog"},
	"check-images":    {"check-images catalog"},
	"compose":         {"compose crafts.yaml --dry-run", "compose crafts.yaml"},

	"catalogsource-resolve-image":  {"catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2"},
	"convert-template-basic":       {"convert-template basic catalog/loom/catalog.json"},
	"convert-template-substitutes": {"convert-template substitutes catalog/loom/catalog.json"},

	"diagnose":    {"diagnose pottery.yaml --catalog crafts=catalog", "diagnose cluster.yaml --redact"},
	"diff":        {"diff catalog/kiln catalog", "diff catalog catalog/loom"},
	"diff-impact": {"diff catalog/kiln catalog --impact", "diff catalog/kiln PUBLISHED --impact --package ecr-secret-operator"},
	"edit": {
		"promote catalog kiln.v2.0.0-rc.1 --to stable --dry-run", "remove catalog bundle kiln.v1.1.1 --reconnect",
		"deprecate catalog package loom -m x", "add bundle new --channel a --create --alpha-image-ref-template registry.example/a:v1",
		"default-channel catalog stable --package kiln",
	},
	"filter":         {"filter catalog --package kiln:stable"},
	"filter-summary": {"filter catalog --package kiln:stable@1.1.0 --summary FILE", "filter PUBLISHED --summary FILE"},
	"graph":          {"graph catalog", "graph PUBLISHED"},
	"init":           {"init my-operator -c stable -d README.md -i icon.svg"},
	"list-bundles":   {"list bundles catalog", "list bundles PUBLISHED"},
	"list-channels":  {"list channels catalog", "list channels PUBLISHED"},
	"list-images":    {"list images catalog", "list images PUBLISHED"},
	"list-packages":  {"list packages catalog", "list packages PUBLISHED"},
	"list-versions":  {"list versions catalog kiln"},
	"matrix":         {"matrix catalog/kiln all=catalog", "matrix PUBLISHED catalog --channels"},
	"mirror":         {"mirror catalog --package kiln:stable --to-dir mirrored --dry-run"},
	"mirror-prune":   {"mirror prune --record record.json"},
	"permissions":    {"permissions --catalog crafts=catalog", "permissions --catalog old=PUBLISHED"},
	"permissions-check-operatorgroup": {
		"permissions cluster.yaml --check-operatorgroup operatorgroup.yaml", "permissions cluster.yaml --check-operatorgroup cluster.yaml",
	},
	"plan": {"plan v4.18=catalog v4.19=catalog/loom", "plan v4.12=PUBLISHED v4.20=catalog"},
	"publish": {
		"publish catalog -t registry.example/crafts/catalog:v1 -i scratch --dry-run --skip check-images,push",
		"publish broken -t localhost:1/crafts:v1 --use-http --sign", "publish crafts.yaml -t registry.example/a:v1 --skip build",
	},
	"render":          {"render catalog registry.example/pottery/kiln-bundle:v2.0.0"},
	"render-template": {"render-template templates/basic.yaml"},
	"resolve":         {"resolve catalog --package kiln --path", "resolve catalog --package kiln --channel x"},
	"resolve-all": {
		"resolve PUBLISHED --all --olm v1 --channels", "resolve --all --each a=catalog --each b=catalog/kiln",
	},
	"resolve-state":   {"resolve --state cluster.yaml --catalog crafts=catalog", "resolve --state cluster.yaml"},
	"simulate":        {"simulate cluster.yaml --catalog crafts=catalog --approve", "simulate cluster.yaml"},
	"search":          {"search catalog pottery", "search PUBLISHED redhat"},
	"updates":         {"updates catalog --simulate", "updates catalog --no-channel", "updates PUBLISHED"},
	"updates-explain": {"updates catalog --package kiln --explain 1.0.0 1.1.1"},
	"validate":        {"validate catalog", "validate broken", "validate templates/basic.yaml", "validate PUBLISHED"},
	"version":         {"version"},
}

// mirrorRecord is the record of a mirror that no longer needs an image.
const mirrorRecord = `{"format": 1, "target": "mirror.example/crafts", "images": [], "obsolete": [{
	"source": "registry.example/kiln:v1", "repository": "kiln", "tag": "v1",
	"digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
	"manifests": [{"digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000", "size": 2,
		"mediaType": "application/vnd.oci.image.manifest.v1+json"}]}]}`

// TestOutputs checks that the output of commands matches its schema, and that the schema has every key.
func TestOutputs(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(printingJSON)), schemas.Outputs(); !slices.Equal(got, want) {
		t.Errorf("there are lines for %q, want them for %q", got, want)
	}
	dir := copyExamples(t)
	if err := os.WriteFile(filepath.Join(dir, "record.json"), []byte(mirrorRecord), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONTAINERS_REGISTRIES_CONF", filepath.Join(dir, "registries.conf"))
	published := absolute(t, shared.Path(t, "data/catalogs/v4.12"))
	for name, lines := range printingJSON {
		schema := strict(t, name)
		for _, line := range shared.Sample(lines, 1) {
			t.Run(line, func(t *testing.T) {
				line = strings.Replace(line, "PUBLISHED", published, 1)
				file := filepath.Join(t.TempDir(), "file")
				got := opm(t, dir, strings.Replace(line, "FILE", file, 1)+" -o json")
				if text, err := os.ReadFile(file); err == nil {
					got.stdout = string(text)
				}
				testOutput(t, schema, got)
			})
		}
	}
}

func testOutput(t *testing.T, schema *jsonschema.Schema, got result) {
	t.Helper()
	dec := jsontext.NewDecoder(strings.NewReader(got.stdout))
	for n := 0; ; n++ {
		value, err := dec.ReadValue()
		if errors.Is(err, io.EOF) && n > 0 {
			return
		}
		if err != nil {
			t.Fatalf("%v, exit code %d\n%s", err, got.code, got.stderr)
		}
		if err := schematest.Validate(schema, value); err != nil {
			t.Error(err)
		}
	}
}

// strict returns the schema of an output, which allows no keys that it does not name.
func strict(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := schemas.JSONSchema(name)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	closeObjects(tree)
	if text, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, text, "")
}

func closeObjects(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		for _, value := range v {
			closeObjects(value)
		}
		if v["type"] == "object" && v["properties"] != nil && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
	case []any:
		for _, value := range v {
			closeObjects(value)
		}
	}
}

// editing are the commands that print the output edit.
var editing = []string{"add", "promote", "deprecate", "remove", "default-channel"}

// Every command with -o json has a schema.
func TestOutputsOfCommands(t *testing.T) {
	for _, c := range commands(rootCmd(nil, "")) {
		flag := c.Flags().Lookup("output")
		if flag == nil {
			continue
		}
		words := strings.Split(flag.Value.Type(), "|")
		name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "opm "), "alpha "), " ", "-")
		switch {
		case !slices.Contains(words, "json"):
		case c.Annotations[cmdline.RenamedTo] != "": // prints what the command of the new name prints
		case name == "migrate": // writes files as render prints them
		case slices.Contains(editing, name): // prints the output edit, and add --impact what diff --impact prints
		case name == "check": // prints what publish prints
		case name == "generate-manifests", name == "bundle-manifests": // objects of Kubernetes
		case !slices.Contains(schemas.Outputs(), name):
			t.Errorf("%s -o json has no schema: add a line to schemas/outputs.txt, and run make generate", c.CommandPath())
		}
	}
}

// The JSON Schema of opm.yaml has exactly the keys that opm reads.
func TestConfigSchema(t *testing.T) {
	text, err := schemas.JSONSchema("opm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schematest.SameKeys(t, schematest.Compile(t, text, ""), reflect.TypeFor[opmyaml.Config]())
}
