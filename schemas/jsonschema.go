package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"
	"github.com/go-json-experiment/json/jsontext"
)

// editorNames are the CUE files that only JSON Schemas use.
var editorNames = []string{"object", "template", "config", "compose", "targets"}

// fileDefinitions are the definitions of files that people write, by what the files are called.
var fileDefinitions = map[string]string{
	"catalog":      "#Object",
	"template":     "#Template",
	"opm.yaml":     "#Config",
	"compose.yaml": "#Compose",
	"targets.yaml": "#Targets",
}

// Files returns the names of the files that people write and that have a [JSONSchema].
func Files() []string { return slices.Sorted(maps.Keys(fileDefinitions)) }

// Outputs returns the names of what commands print with -o json, such as list-packages. All have a [JSONSchema].
func Outputs() []string { return slices.Sorted(maps.Keys(outputs())) }

// outputs returns what is printed under each name of [Outputs]: a Go type, or one of [Files].
func outputs() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(read("outputs.txt")) {
		if fields := strings.Fields(line); len(fields) == 2 {
			all[fields[0]] = fields[1]
		}
	}
	return all
}

// JSONSchema returns the JSON Schema of one of [Files] or [Outputs]. For catalogs and templates it is about one object
// or document, since editors apply it to each document of a file by itself.
func JSONSchema(name string) (jsontext.Value, error) {
	printed, isOutput := outputs()[name]
	if definition, ok := fileDefinitions[name]; ok {
		return generate(definition)
	}
	if definition, ok := fileDefinitions[printed]; ok {
		return generate(definition)
	}
	if !isOutput {
		return nil, fmt.Errorf("no JSON Schema %q", name)
	}
	return jsontext.Value(read("output/" + name + ".v1.json")), nil
}

// generate returns the JSON Schema of a definition, of draft 2020-12: package jsonschema generates no other, and
// yaml-language-server, which most editors use, reads it even in versions that know older drafts only.
func generate(definition string) (jsontext.Value, error) {
	context := cuecontext.New()
	format := context.CompileString(concat(slices.Concat(names, editorNames)))
	expr, err := jsonschema.Generate(format.LookupPath(cue.ParsePath(definition)), nil)
	if err != nil {
		return nil, err
	}
	text, err := context.BuildExpr(expr).MarshalJSON()
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(corrections.Replace(string(text)))
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(value, '\n'), nil
}

// corrections are made to what package jsonschema generates: {...} allows any object, not only the empty one, and an
// editor has a better message for a text that is too short than for one that is not allowed.
var corrections = strings.NewReplacer(`"const":{}`, `"type":"object"`, `"not":{"const":""}`, `"minLength":1`)
