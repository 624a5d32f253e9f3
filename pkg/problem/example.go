package problem

import (
	"io/fs"
	"strings"

	"golang.org/x/tools/txtar"
)

// An Example shows how a rule is broken and kept. Its texts end with a newline.
type Example struct {
	// Bad and Good are changes to [Rules.Example] that break and keep the rule: YAML documents, each of which replaces the
	// object with the same schema, package and name, or files in txtar form, if [Rules.Example] has several files.
	Bad, Good string

	// Abridged explains why Bad only shows the mistake but does not break the rule itself; "" if it does break it.
	Abridged string

	// Schema is a CUE file of the user for both, and Config an opm.yaml; "" for none.
	Schema, Config string
}

// Example reads the example of the rule from the file rules/NAME.txtar of [NewRules]. Before the first section of the
// file is Abridged; the sections are the other fields. An example with several files has a section for each of them:
//
//	the file is missing
//	-- config --
//	target: ocp=4.18
//	-- bad/manifests/crd.yaml --
//	-- good/manifests/crd.yaml --
//	kind: CustomResourceDefinition
//
// It returns the zero Example for a rule without a file.
func (r *Rule) Example() Example {
	if r.files == nil {
		return Example{}
	}
	text, err := fs.ReadFile(r.files, "rules/"+r.Name+".txtar")
	if err != nil {
		return Example{}
	}
	archive := txtar.Parse(text)
	e := Example{Abridged: strings.TrimSpace(string(archive.Comment))}
	for _, f := range archive.Files {
		section, name, several := strings.Cut(f.Name, "/")
		data := string(f.Data)
		if several {
			data = "-- " + name + " --\n" + data
		}
		switch section {
		case "bad":
			e.Bad += data
		case "good":
			e.Good += data
		case "schema":
			e.Schema += data
		case "config":
			e.Config += data
		}
	}
	return e
}

// badTitle returns the title of Bad.
func (e Example) badTitle() string {
	if e.Abridged == "" {
		return "Bad"
	}
	return "Bad (" + e.Abridged + ")"
}
