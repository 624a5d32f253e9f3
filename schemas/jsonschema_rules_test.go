package schemas_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/schematest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

// TestRulesOfDefinitions checks that the attributes of the definitions name rules.
func TestRulesOfDefinitions(t *testing.T) {
	files, err := filepath.Glob("*.cue")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`@(\w+)\(([\w-]*)`).FindAllSubmatch(text, -1) {
			if string(m[1]) != "rule" || !validate.Rules().Has(string(m[2])) {
				t.Errorf("%s: %s names no rule", file, m[0])
			}
			found++
		}
	}
	if found == 0 {
		t.Error("no definition names a rule")
	}
}

// TestJSONSchemaOfRuleExamples checks that the JSON Schema of catalogs rejects the same example objects as the checker.
func TestJSONSchemaOfRuleExamples(t *testing.T) {
	checker, err := schemas.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	text, err := schemas.JSONSchema("catalog")
	if err != nil {
		t.Fatal(err)
	}
	schema := schematest.Compile(t, text, "")
	rejected := 0
	for _, r := range validate.Rules().All() {
		e := r.Example()
		for _, o := range objects(t, e.Bad+"\n---\n"+e.Good) {
			findings, err := checker.Object(o), schematest.Validate(schema, o.JSON())
			if (err != nil) != (len(findings) > 0) {
				t.Errorf("%s: %s\nthe checker finds %v, the JSON Schema %v", r.Name, o.JSON(), findings, err)
			}
			if err != nil {
				rejected++
			}
		}
	}
	if rejected < 10 {
		t.Errorf("only %d objects were rejected", rejected)
	}
}

// TestJSONSchemaOfTemplateExamples checks that the JSON Schema of templates rejects examples with a wrong shape, and no
// good example.
func TestJSONSchemaOfTemplateExamples(t *testing.T) {
	text, err := schemas.JSONSchema("template")
	if err != nil {
		t.Fatal(err)
	}
	schema := schematest.Compile(t, text, "")
	groups := template.Rules().Groups
	for _, r := range groups[len(groups)-1].Rules {
		for _, o := range objects(t, r.Example().Good) {
			if err := schematest.Validate(schema, o.JSON()); err != nil {
				t.Errorf("the good example of %s: %v", r.Name, err)
			}
		}
		for _, o := range objects(t, r.Example().Bad) {
			if err := schematest.Validate(schema, o.JSON()); (err != nil) != (r.Name == "template") {
				t.Errorf("the bad example of %s: %v", r.Name, err)
			}
		}
	}
}

// objects returns the readable documents of an example.
func objects(t *testing.T, text string) []*declcfg.Object {
	t.Helper()
	read := func(o *declcfg.Object) (*declcfg.Object, error) { return declcfg.NewObject(o.Pos, o.JSON().Clone()) }
	file := fstest.MapFS{"example.yaml": &fstest.MapFile{Data: []byte(text)}}
	var all []*declcfg.Object
	for o, err := range declcfg.Map(t.Context(), read, declcfg.Source{FS: file}) {
		if err == nil {
			all = append(all, o)
		}
	}
	return all
}
