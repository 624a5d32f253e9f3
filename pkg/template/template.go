// Package template renders templates: short files, kept in git, from which a catalog is generated. They name images of
// bundles; a template says what to make of them.
//
//	t, err := template.Parse("kiln.yaml", text, template.Detect, warn)
//	bundles, err := t.Pull(ctx, render.Options{Images: opener})
//	defer bundles.Close()
//	catalog, err := t.Render(ctx, bundles, template.Options{})
//	err = declcfg.Write(ctx, os.Stdout, catalog.Metas, declcfg.WriteOptions{Edit: catalog.Edit})
//
// Every mistake in a template is an error at its place, and all of them are reported. The catalogs are those of
// upstream, byte for byte.
package template

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Type is a type of template.
type Type string

// The types.
const (
	Detect      Type = "" // by the schema
	Basic       Type = "basic"
	Semver      Type = "semver"
	Substitutes Type = "substitutes"
)

// kinds are the types and what is known of them.
var kinds = []kind{
	{Basic, "olm.template.basic", func() spec { return &basic{} }, true},
	{Semver, "olm.semver", func() spec { return &semverSpec{} }, false},
	{Substitutes, "olm.template.substitutes", func() spec { return &substitutes{} }, true},
}

type kind struct {
	name   Type
	schema string
	spec   func() spec

	tolerant bool // unknown and repeated keys are ignored, as upstream does
}

// A spec is what a template of one type says. It has the keys of the template as fields.
type spec interface {
	// check reports what is wrong with it, as far as that can be told without bundles.
	check(t *Template)
	// lint adds what else is wrong to the problems. The error is that of the options of the checker.
	lint(c *checker) error
	// images returns the images of bundles that it names, in order.
	images() []reference
	// render makes the objects of the catalog.
	render(r *rendering)
}

// A reference is the image of a bundle that a template names.
type reference struct {
	image string
	ptr   jsontext.Pointer // to it in the template
}

// Types returns all types.
func Types() []Type {
	types := make([]Type, len(kinds))
	for i, k := range kinds {
		types[i] = k.name
	}
	return types
}

// A Template is a template that was read without errors. It does not change.
type Template struct {
	Type Type

	file *strictyaml.File
	spec spec
	errs []error // while it is read
	warn func(*declcfg.Error)
}

// Parse reads the first document of a file. The error joins a [*declcfg.Error] for everything that is wrong with it, by
// place; warn is called for what is ignored. Positions begin with name.
func Parse(name string, text []byte, typ Type, warn func(*declcfg.Error)) (*Template, error) {
	file, err := strictyaml.Read(name, withoutEmpty(text))
	if err != nil {
		return nil, err
	}
	k, err := kindOf(file, typ)
	if err != nil {
		return nil, err
	}
	t := &Template{Type: k.name, file: file, spec: k.spec(), warn: warn}
	if err := file.Decode(t.spec, strictyaml.Options{Warn: warn, Tolerant: k.tolerant}); err != nil {
		return nil, err
	}
	t.spec.check(t)
	if err := joinErrors(t.errs); err != nil {
		return nil, err
	}
	return t, nil
}

// withoutEmpty makes comments of the separator behind a document of comments, so that the next document is the first.
func withoutEmpty(text []byte) []byte {
	comment := false
	at := 0
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		switch {
		case len(trimmed) == 0:
		case trimmed[0] == '#':
			comment = true
		case comment && bytes.HasPrefix(line, []byte("---")):
			text = bytes.Clone(text)
			copy(text[at:], "###")
			return text
		default:
			return text
		}
		at += len(line)
	}
	return text
}

// kindOf returns the kind of a template by its schema, which must be that of the type, if one is given.
func kindOf(file *strictyaml.File, typ Type) (*kind, error) {
	schema := schemaOf(file.JSON())
	var schemas []string
	for i := range kinds {
		k := &kinds[i]
		switch {
		case typ == k.name && schema != k.schema:
			return nil, file.Errorf("/schema", "want schema %q for a %s template, found %q", k.schema, k.name, schema)
		case typ == k.name, typ == Detect && schema == k.schema:
			return k, nil
		}
		schemas = append(schemas, k.schema)
	}
	if schema == "" {
		return nil, file.Errorf("", "the template has no schema: want one of %q", schemas)
	}
	if schema == CompositeSchema {
		return nil, file.Errorf("/schema", "a composite template has two files; run: opm render-template composite -c %s",
			file.Name())
	}
	return nil, file.Errorf("/schema", "unknown schema %q%s", schema, nearest.Hint(schema, schemas))
}

// schemaOf returns the schema of a document, "" if it has none.
func schemaOf(doc jsontext.Value) (schema string) {
	var head struct {
		Schema jsontext.Value `json:"schema"`
	}
	_ = json.Unmarshal(doc, &head, document.Lenient, json.MatchCaseInsensitiveNames(true)) // not an object
	_ = json.Unmarshal(head.Schema, &schema)                                               // missing, or not text
	return schema
}

// fail notes an error about the value at ptr.
func (t *Template) fail(ptr jsontext.Pointer, format string, args ...any) {
	t.errs = append(t.errs, t.file.Errorf(ptr, format, args...))
}

// warnf warns of the value at ptr.
func (t *Template) warnf(ptr jsontext.Pointer, format string, args ...any) {
	if t.warn != nil {
		t.warn(t.file.Errorf(ptr, format, args...))
	}
}

// Images returns the images of bundles that the template names, each once, in their order.
func (t *Template) Images() []string {
	var images []string
	for _, r := range t.distinct() {
		images = append(images, r.image)
	}
	return images
}

// distinct returns the first reference to each image.
func (t *Template) distinct() []reference {
	seen := map[string]bool{}
	return slices.DeleteFunc(t.spec.images(), func(r reference) bool {
		repeated := seen[r.image]
		seen[r.image] = true
		return repeated
	})
}

// Options say how a template is rendered. The zero value renders it as upstream does.
type Options struct {
	// StrictChannels generates the channels of semver templates as their authors expect: the default channel is of the
	// preferred type, and entries update entries of their channel only.
	StrictChannels bool

	target *target // nil for none
}

// A rendering is a template that is being rendered.
type rendering struct {
	*Template
	Options
	ctx     context.Context //nolint:containedctx // it lives as long as one call of Render
	bundles *Bundles
	errs    []error

	objects []any           // *declcfg.Package and so on, or jsontext.Value
	used    []*declcfg.Meta // bundles that are rendered

	// Of a target:
	left   map[bundleName]bool // bundles that are left out
	known  []string            // names and images of all bundles
	wanted int                 // how many are not left out
}

// fail notes an error about the value at ptr.
func (r *rendering) fail(ptr jsontext.Pointer, format string, args ...any) {
	r.errs = append(r.errs, r.file.Errorf(ptr, format, args...))
}

// add adds an object of the catalog.
func (r *rendering) add(object any) { r.objects = append(r.objects, object) }

// joinErrors joins errors by place, nil for none.
func joinErrors(errs []error) error {
	slices.SortStableFunc(errs, declcfg.CompareErrors)
	return errors.Join(errs...)
}

// index returns the pointer to an element of a list.
func index(list jsontext.Pointer, i int) jsontext.Pointer {
	return list.AppendToken(fmt.Sprint(i))
}
