// Package template renders catalog templates. A template is a short file, usually kept in git, that lists bundle
// images; the catalog is generated from it.
//
//	t, err := template.Parse("kiln.yaml", text, template.Detect, warn)
//	bundles, err := t.Pull(ctx, render.Options{Images: opener})
//	defer bundles.Close()
//	catalog, err := t.Render(ctx, bundles, template.Options{})
//	err = declcfg.Write(ctx, os.Stdout, catalog.Metas, declcfg.WriteOptions{Edit: catalog.Edit})
//
// Every mistake in a template is reported, with its position. The catalogs are identical to upstream's, byte for byte.
package template

import (
	"bytes"
	"context"
	"reflect"
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

// The types of templates.
const (
	Detect      Type = "" // detects the type by the schema
	Basic       Type = "basic"
	Semver      Type = "semver"
	Substitutes Type = "substitutes"
)

// kinds lists the types of templates and their schemas.
var kinds = []kind{
	{Basic, "olm.template.basic", func() spec { return &basic{} }, true},
	{Semver, "olm.semver", func() spec { return &semverSpec{} }, false},
	{Substitutes, "olm.template.substitutes", func() spec { return &substitutes{} }, true},
}

type kind struct {
	name   Type
	schema string
	spec   func() spec

	tolerant bool // ignore unknown and repeated keys, as upstream does
}

// A spec is the decoded content of a template of one type. Its fields are the keys of the template.
type spec interface {
	// check reports the errors that can be found without the bundles.
	check(t *Template)
	// lint adds further problems to c. It returns an error if the options of the checker are not valid.
	lint(c *checker) error
	// pkg returns the only package that the template itself defines, or "".
	pkg() string
	// images returns the references to bundle images, in order.
	images() []reference
	// render adds the objects of the catalog to r.
	render(r *rendering)
}

// A reference is a reference to a bundle image in a template.
type reference struct {
	image string
	ptr   jsontext.Pointer // pointer to the reference in the template
}

// Types returns all types.
func Types() []Type {
	types := make([]Type, len(kinds))
	for i, k := range kinds {
		types[i] = k.name
	}
	return types
}

// A Template is a template that was read without errors. It is immutable.
type Template struct {
	Type Type

	file *strictyaml.File
	spec spec
	warn func(*declcfg.Error)

	wrong, flaws strictyaml.Problems // collected while the template is read
}

// Parse reads the first document of a file. The error joins a [*declcfg.Error] for each mistake, sorted by position.
// Parse calls warn for each ignored key. Of more than 1,000 mistakes or ignored keys, the others are counted. Positions
// begin with name.
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
	if warn != nil {
		for _, flaw := range t.flaws.Sorted() {
			warn(flaw)
		}
	}
	if err := t.wrong.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// withoutEmpty turns the separator after a leading document of comments into a comment, so that the next document
// becomes the first. A document may begin in the line of its separator.
func withoutEmpty(text []byte) []byte {
	comment := false
	at := 0
	for line := range bytes.Lines(text) {
		after, isSeparator := bytes.CutPrefix(line, []byte("---"))
		after = bytes.TrimSpace(after)
		isComment := len(after) > 0 && after[0] == '#'
		switch {
		case isSeparator && comment && (len(after) == 0 || isComment):
			text = bytes.Clone(text)
			copy(text[at:], "###")
			return text
		case isSeparator:
			return text
		case isComment:
			comment = true
		case len(after) > 0:
			return text
		}
		at += len(line)
	}
	return text
}

// kindOf returns the kind of a template by its schema. If typ is not Detect, the schema must be the schema of that
// type.
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
	if schema == compositeSchema {
		return nil, file.Errorf("/schema", "a composite template has two files; run: opm render-template composite -c %s",
			file.Name())
	}
	return nil, file.Errorf("/schema", "unknown schema %q%s", schema, nearest.Hint(schema, schemas))
}

// schemaOf returns the schema of a document, or "" if it has none.
func schemaOf(doc jsontext.Value) (schema string) {
	var head struct {
		Schema jsontext.Value `json:"schema"`
	}
	_ = json.Unmarshal(doc, &head, document.Lenient, json.MatchCaseInsensitiveNames(true)) // not an object
	_ = json.Unmarshal(head.Schema, &schema)                                               // missing, or not a string
	return schema
}

func (t *Template) fail(ptr jsontext.Pointer, format string, args ...any) {
	t.wrong.Addf(t.file, ptr, format, args...)
}

func (t *Template) warnf(ptr jsontext.Pointer, format string, args ...any) {
	if t.warn != nil {
		t.warn(t.file.Errorf(ptr, format, args...))
	}
}

// Images returns the bundle images that the template names, each once, in template order.
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

// Options configure the rendering of a template. The zero value renders as upstream does.
type Options struct {
	// StrictChannels generates the channels of semver templates as their authors expect: the default channel has the
	// preferred type, and entries update only entries of their own channel.
	StrictChannels bool

	target *target // nil for none
}

// A rendering is the state of one call of Render.
type rendering struct {
	*Template
	Options
	ctx     context.Context //nolint:containedctx // it lives as long as one call of Render
	bundles *Bundles
	errs    []error
	hints   nearest.Finder

	objects []any           // *declcfg.Package, another type of declcfg, or jsontext.Value
	used    []*declcfg.Meta // rendered bundles of the catalog

	// Only for a target:
	excluded map[bundleName]bool // bundles that the target leaves out
	names    []string            // names and images of all bundles
	included int                 // number of bundles that are not left out
}

func (r *rendering) fail(ptr jsontext.Pointer, format string, args ...any) {
	r.errs = append(r.errs, r.file.Errorf(ptr, format, args...))
}

func (r *rendering) add(object any) { r.objects = append(r.objects, object) }

// Shapes returns the Go types of template files by schema: structs with json tags, whose fields are in the order in
// which authors write the keys. A [jsontext.Value] in a list is a catalog object.
func Shapes() map[string]reflect.Type {
	shapes := map[string]reflect.Type{
		compositeSchema: reflect.TypeFor[compositeContribution](),
		catalogsSchema:  reflect.TypeFor[compositeCatalogs](),
	}
	for _, k := range kinds {
		shapes[k.schema] = reflect.TypeOf(k.spec()).Elem()
	}
	return shapes
}
