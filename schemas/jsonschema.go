package schemas

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"
	"github.com/go-json-experiment/json/jsontext"
)

// editorNames are the CUE files that only JSON Schemas are made of.
var editorNames = []string{"object", "template", "config", "compose", "targets"}

// fileDefinitions are the definitions of files that people write, by what they are called.
var fileDefinitions = map[string]string{
	"catalog":      "#Object",
	"template":     "#Template",
	"opm.yaml":     "#Config",
	"compose.yaml": "#Compose",
	"targets.yaml": "#Targets",
}

// Files returns the names of the files that [JSONSchema] knows.
func Files() []string { return slices.Sorted(maps.Keys(fileDefinitions)) }

// JSONSchema returns the JSON Schema of one of [Files], for editors. That of a catalog or a template is for one object
// or document, since an editor applies it to every document of a file by itself.
//
// It is of draft 2020-12, the one that package jsonschema generates. yaml-language-server, which most editors use, reads
// all that is used of it, also in versions that do not claim to know the draft.
func JSONSchema(file string) (jsontext.Value, error) {
	definition, ok := fileDefinitions[file]
	if !ok {
		return nil, errors.New("no such file")
	}
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
