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
package schemas

import (
	"embed"
	"slices"
	"strings"
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

func source(name string) string { return read(name + ".cue") }

func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // no such file: a bug in this package
	}
	return string(data)
}
