package main

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"
)

// TestYAMLIsJSON checks that the output in YAML has the same content as that in JSON.
func TestYAMLIsJSON(t *testing.T) {
	dir := copyExamples(t)
	for _, line := range []string{
		"version",
		"list packages catalog", "list channels catalog", "list bundles catalog", "list versions catalog kiln", "list images catalog",
		"matrix catalog/kiln catalog", "list bundles --each catalog/",
		"search catalog pottery", "search catalog nothing-has-this",
		"updates catalog --all", "updates catalog --package kiln --explain 1.0.0 1.2.0", "updates --each catalog/ --all",
		"graph catalog", "graph --each catalog/",
		"diff catalog/kiln catalog", "diff catalog/kiln catalog --impact",
		"validate catalog", "resolve catalog --package kiln", "resolve catalog --all",
		"deprecate catalog bundle kiln.v1.0.0 -m x --dry-run",
		"simulate cluster.yaml --catalog crafts=catalog", "diagnose pottery.yaml --catalog crafts=catalog",
		"catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2",
		"auth explain quay.io/example/kiln:v1 --authfile auth.json",
		"build catalog -i scratch --platform linux/amd64 --archive catalog.tar", "compose crafts.yaml --dry-run",
	} {
		asJSON, asYAML := opm(t, dir, line+" -o json"), opm(t, dir, line+" -o yaml")
		var want, got any
		if err := json.Unmarshal([]byte(asJSON.stdout), &want); err != nil {
			t.Errorf("opm %s: %v in %+v", line, err, asJSON)
		}
		text, err := yaml.YAMLToJSON([]byte(asYAML.stdout))
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || !reflect.DeepEqual(got, want) || asYAML.code != asJSON.code {
			t.Errorf("opm %s: %v, got\n%s\nas YAML, and as JSON\n%s", line, err, asYAML.stdout, asJSON.stdout)
		}
	}
}
