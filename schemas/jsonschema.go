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

// editorNames lists the CUE files that only JSON Schemas use.
var editorNames = []string{"object", "template", "config", "compose", "targets"}

// fileDefinitions maps the names of files that people write to their definitions.
var fileDefinitions = map[string]string{
	"catalog":      "#Object",
	"template":     "#Template",
	"opm.yaml":     "#Config",
	"compose.yaml": "#Compose",
	"targets.yaml": "#Targets",
}

// Files returns the sorted names of the files that people write. All have a [JSONSchema].
func Files() []string { return slices.Sorted(maps.Keys(fileDefinitions)) }

// Outputs returns the sorted names of command outputs in JSON, such as list-packages. All have a [JSONSchema].
func Outputs() []string { return slices.Sorted(maps.Keys(outputs())) }

// outputs maps each name of [Outputs] to the printed content: a Go type, or one of [Files].
func outputs() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(read("outputs.txt")) {
		if fields := strings.Fields(line); len(fields) == 2 {
			all[fields[0]] = fields[1]
		}
	}
	return all
}

// JSONSchema returns the JSON Schema of one of [Files] or [Outputs]. For catalogs and templates, it describes a single
// object or document, because editors apply it to each document of a file.
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

// generate returns the JSON Schema of a definition, in draft 2020-12. Package jsonschema generates no other draft, and
// yaml-language-server, which most editors use, reads it even in versions that support only older drafts.
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

// corrections fixes the output of package jsonschema: {...} allows any object, not only the empty one, and editors have
// a better message for a string that is too short than for a string that is not allowed.
var corrections = strings.NewReplacer(`"const":{}`, `"type":"object"`, `"not":{"const":""}`, `"minLength":1`)
