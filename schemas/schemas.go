// Package schemas holds the format of file-based catalogs, stated in CUE, and checks objects against it.
//
// The definitions are those of the specification, open to keys that it does not name:
//
//	text, ok := schemas.Source("bundle") // for people, or for `cue vet`
//
// A [Checker] says where an object departs from them:
//
//	checker, err := schemas.NewChecker()
//	…
//	for _, f := range checker.Object(o) { // a *declcfg.Object
//		fmt.Println(f.Pointer, f.Message) // /image must not be empty
//	}
//
// What one object says about another is not stated here, nor is whether a finding is an error or a warning.
package schemas

import (
	"embed"
	"slices"
	"strings"
)

//go:generate go -C ../tools run ./outputs ../schemas/outputs.txt ../schemas/output

//go:embed *.cue outputs.txt output
var files embed.FS

// packageClause is in every file, so that the folder is a CUE package, and once in [All].
const packageClause = "package catalog\n"

var names = []string{"meta", "package", "channel", "bundle", "deprecations", "property"}

// Names returns the names of the files of the format, the general one first.
func Names() []string { return slices.Clone(names) }

// Source returns the CUE file that defines name: one of [Names], a schema such as olm.bundle, or the type of a
// property. For olm.package, which is both, it is the schema.
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

// concat returns the named files as one.
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
		panic(err) // there is no such file: a mistake in this package
	}
	return string(data)
}
