// Package schemas defines the format of file-based catalogs in CUE, and checks objects against the definitions.
//
// The definitions follow the specification, and allow keys that it does not name:
//
//	text, ok := schemas.Source("bundle") // for people, or for `cue vet`
//
// A [Checker] reports the violations of the definitions in an object:
//
//	checker, err := schemas.NewChecker()
//	…
//	for _, f := range checker.Object(o) { // a *declcfg.Object
//		fmt.Println(f.Pointer, f.Message) // /image must not be empty
//	}
//
// Relations between objects and the severity of findings are not defined here; see package validate.
//
// # Speed
//
// CUE is slow, so it sees little of a catalog: an object is first reduced to a skeleton, with the kinds of bulky values
// instead of the values, and verdicts on properties are cached by their bytes. CUE has no way to stop an evaluation.
// The definitions of users are therefore evaluated on a goroutine that is left behind if they exceed a limit; the check
// then fails.
//
// # JSON Schemas
//
// JSON Schemas of files are generated from CUE when they are printed. The schemas of what commands print, in output/,
// are generated from the Go types and kept in the repository: programs refer to them, and a changed key must be seen in
// review.
package schemas

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"
	"github.com/go-json-experiment/json/jsontext"
)

//go:generate go -C ../tools run ./outputs ../schemas/outputs.txt ../schemas/output

//go:embed *.cue outputs.txt output
var files embed.FS

// packageClause begins every file, so that the folder is a CUE package. [All] has it once.
const packageClause = "package catalog\n"

var names = []string{"meta", "package", "channel", "bundle", "deprecations", "property"}

// Names returns the names of the files that define the format, starting with the general one.
func Names() []string { return slices.Clone(names) }

// Source returns the CUE file that defines name: one of [Names], a schema such as olm.bundle, or a property type. For
// olm.package, which is both a schema and a property type, it returns the file of the schema.
func Source(name string) (text string, ok bool) {
	if def, known := objectDefinitions[name]; known {
		return source(def.file), true
	}
	if _, known := propertyDefinitions[name]; known {
		return source("property"), true
	}
	if !slices.Contains(names, name) {
		return "", false
	}
	return source(name), true
}

// All returns the whole format as one CUE file.
func All() string { return concat(names) }

func concat(names []string) string {
	var all strings.Builder
	for i, name := range names {
		text := source(name)
		if i > 0 {
			text = strings.Replace(text, packageClause, "", 1)
		}
		all.WriteString(text)
	}
	return all.String()
}

func source(name string) string { return withoutRules(read(name + ".cue")) }

func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // no such file: a bug in this package
	}
	return string(data)
}

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
