// Package edit changes catalogs and templates in place: it adds a bundle, promotes it to another channel, deprecates or
// removes an object of a package, and sets the default channel.
//
//	promote := edit.Promote{Bundle: "kiln.v2.0.0", To: "stable"}
//	results, err := edit.Apply(ctx, []string{"catalog"}, promote, edit.Options{})
//	if len(results[0].Problems) > 0 { … } // the package would not be valid, and nothing was written
//
// An edit replaces a few bytes of a file. Comments, order, quoting and indentation around them stay the same, and new
// text takes the style of its neighbours; a new object is placed where opm fmt would place it. Only the documents that
// change are parsed for that: YAML to the nodes of yaml/v4, JSON to tokens. The new document is read again and must
// differ by that change only. An edit that would need a guess, because of an anchor, an alias, a tag, a merge or a
// repeated key, fails with an error at that position.
//
// The resulting package is validated before any file is replaced, and files are replaced in one transaction. While one
// edit changes a file, other edits of the same file fail.
package edit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Options control an edit.
type Options struct {
	Package   string      // the package to edit; "" for the package of the object that the edit names
	DryRun    bool        // write nothing, and return the diff
	Create    bool        // create a missing channel, and for [Add] also a missing package or catalog
	MaxObject int64       // see [declcfg.Source]
	Read      func(int64) // see [declcfg.Source]

	// Warn, if not nil, is called with errors about leftovers of killed edits that cannot be removed; one may be
	// reported twice. Upstream's opm reads leftovers as a part of the catalog.
	Warn func(error)
}

// An Edit is one change to a package: [Add], [Promote], [Deprecate], [DefaultChannel] or [Remove].
type Edit interface {
	// subject returns the schema and the name of the object that the package must have.
	subject() (schema, name string)
	// apply changes the package.
	apply(p *pkg) error
}

// A Result describes the changes of an edit, or of a dry run.
type Result struct {
	Notes []string // choices made for the user, and next steps; one sentence each
	Diff  []byte   // the changes to the files as a unified diff; nil unless Options.DryRun is set
	Files []File   // the changed files, in the order in which they are written; none if there are problems

	Bundle *declcfg.Bundle // the added or promoted bundle; nil if there is none, or if a template has only its image

	// Problems are the validation errors of the resulting package. If there are any, nothing was written.
	Problems []*problem.Problem

	// Absent is the error that the catalog does not have the package that is edited in others. The catalog is not changed,
	// and the rest of the result is empty.
	Absent error
}

// A File is a file that an edit writes or deletes.
type File struct {
	Name   string `json:"name"` // as the user wrote the catalog, with the path in it
	Change Change `json:"change"`
}

// A Change is what an edit does to a file.
type Change string

// The changes of files.
const (
	Created Change = "created"
	Changed Change = "changed"
	Deleted Change = "deleted"
)

// Apply makes the same edit to catalogs, which are directories or files, and to templates, and returns the results in
// the order of the paths. Nothing is written if the edit fails for one of them, or if one of them would not be valid.
// The error joins all errors. Catalogs without the package are left out if another one has it: see [Result.Absent].
// Leftovers of killed edits are removed first, and their changes are rolled back: see [atomicfile.Tx].
func Apply(ctx context.Context, paths []string, e Edit, o Options) ([]*Result, error) {
	if !o.DryRun {
		for _, path := range paths {
			o.warn(RemoveLeftovers(path))
		}
	}
	var plans []*plan
	results, all := make([]*Result, len(paths)), make([]error, len(paths))
	edited := map[string]bool{}
	invalid := false
	for i, path := range paths {
		p, err := newPlan(ctx, path, e, o)
		if _, hasPlace := errors.AsType[*declcfg.Error](err); err != nil && len(paths) > 1 && !hasPlace {
			err = fmt.Errorf("%s: %w", path, err)
		}
		if all[i] = err; err != nil {
			continue
		}
		plans, results[i] = append(plans, p), p.result
		invalid = invalid || len(p.result.Problems) > 0
		if p.edited != nil {
			edited[p.edited.name] = true
		}
	}
	var errs []error
	for i, err := range all {
		absent, ok := errors.AsType[*absentError](err)
		hasPackage := ok && slices.ContainsFunc(absent.packages, func(name string) bool { return edited[name] })
		if ok && len(edited) > 0 && !hasPackage {
			results[i] = &Result{Absent: err}
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	if errs != nil || invalid {
		return slices.DeleteFunc(results, func(r *Result) bool { return r == nil }), errors.Join(errs...)
	}
	w, err := newWriter(plans)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.list()
	if o.DryRun {
		return results, cmp.Or(w.check(), w.diffs())
	}
	err = w.write()
	for _, dir := range w.dirs() {
		o.warn(atomicfile.RemoveStale(dir, false))
	}
	return results, err
}

// RemoveLeftovers removes the leftovers of killed processes that wrote to a catalog, which is a directory or a file,
// and rolls back their transactions. Errors are as for [atomicfile.RemoveStale].
func RemoveLeftovers(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // the catalog is not there yet, or reading it fails
	case info.IsDir():
		return atomicfile.RemoveStale(path, true)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	return atomicfile.RemoveStale(filepath.Dir(path), false)
}

func (o Options) warn(err error) {
	if err != nil && o.Warn != nil {
		o.Warn(err)
	}
}

// A plan is an edit of a catalog or template before it is written.
type plan struct {
	*target
	edited  *pkg   // the package after the edit; nil if a file is created
	file    string // file to create; "" for none
	content []byte // content of that file
	result  *Result
}

// newPlan makes an edit in memory, and validates the package.
func newPlan(ctx context.Context, path string, e Edit, o Options) (*plan, error) {
	t, err := open(ctx, path, o)
	a, isAdd := e.(Add)
	switch {
	case isAdd && errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; %s", err, createHint)
	case err != nil:
		return nil, err
	}
	// With another --package, the mistake is the mismatch of the two packages, which apply reports.
	if isAdd && t.pkg == nil && (o.Package == "" || o.Package == a.Bundle.Package) &&
		!slices.Contains(t.names(declcfg.SchemaPackage), a.Bundle.Package) {
		if !o.Create {
			return nil, fmt.Errorf("%w; %s", t.unknown(declcfg.SchemaPackage, a.Bundle.Package), createHint)
		}
		return t.create(ctx, a)
	}
	p, err := t.choose(e, o.Package)
	if err != nil {
		return nil, err
	}
	p.create = o.Create
	if err := e.apply(p); err != nil {
		if t.pkg == nil && !slices.Contains(t.owners(e), p.name) {
			err = t.absent(err)
		}
		return nil, err
	}
	return t.plan(ctx, p)
}

// An absentError says that a catalog does not have the object that an edit names.
type absentError struct {
	error
	packages []string // of the catalog
}

func (e *absentError) Unwrap() error { return e.error }

func (t *target) absent(err error) error { return &absentError{err, t.names(declcfg.SchemaPackage)} }

// plan validates an edited package.
func (t *target) plan(ctx context.Context, p *pkg) (*plan, error) {
	problems, err := p.problems(ctx)
	if len(problems) > 0 {
		if looks := t.several(); looks != "" {
			return nil, fmt.Errorf("%s: edit one of them, or all with --each %s/", looks, strings.TrimSuffix(t.path, "/"))
		}
	}
	return &plan{target: t, edited: p, result: &Result{Notes: p.notes, Bundle: p.placed, Problems: problems}}, err
}

// several returns the sentence of [validate.Several] about a directory that looks like several catalogs, or "".
func (t *target) several() string {
	var index declcfg.Index
	for _, m := range t.metas {
		if t.isTree && m.Schema == declcfg.SchemaPackage {
			index.Add(m, nil)
		}
	}
	return validate.Several(t.path, &index)
}

// A target is the catalog or the template to edit.
type target struct {
	path      string
	isTree    bool            // a directory
	isMissing bool            // the path does not exist
	metas     []*declcfg.Meta // the objects of a catalog
	pkg       *pkg            // the package of a template
	record    declcfg.Record
}

// choose returns the package that an edit applies to.
func (t *target) choose(e Edit, name string) (*pkg, error) {
	if t.pkg != nil {
		return t.pkg, t.pkg.checkName(name)
	}
	packages, owners := t.names(declcfg.SchemaPackage), t.owners(e)
	schema, subject := e.subject()
	switch {
	case name == "" && len(packages) == 1:
		name = packages[0]
	case name == "" && len(owners) == 1:
		name = owners[0]
	case name == "" && len(owners) > 1:
		return nil, fmt.Errorf("several packages have a %s %q: name one with --package: %q", kindOf(schema), subject, owners)
	case name == "":
		return nil, t.absent(t.unknown(schema, subject))
	}
	if !slices.Contains(packages, name) {
		return nil, t.absent(notFound("no", Package, name, packages))
	}
	return t.load(name)
}

// owners returns the names of the packages of a catalog that have the object that an edit names, sorted.
func (t *target) owners(e Edit) []string {
	var owners []string
	schema, subject := e.subject()
	for _, m := range t.metas {
		if m.Schema == schema && m.Name == subject {
			owners = append(owners, m.Owner())
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// names returns the names of the objects of a schema.
func (t *target) names(schema string) (names []string) {
	for _, m := range t.metas {
		if m.Schema == schema {
			names = append(names, m.Name)
		}
	}
	return names
}

// notFound returns the error for a name that does not exist, and suggests the nearest existing name.
func notFound(no string, kind Kind, name string, names []string) error {
	return nearest.NotFound(no+" "+string(kind), name, names)
}

// unknown returns the error for an object that no package has.
func (t *target) unknown(schema, name string) error {
	return notFound("no", kindOf(schema), name, t.names(schema))
}

// A Kind is the kind of object a name refers to.
type Kind string

// The kinds of objects that can be deprecated and removed.
const (
	Package Kind = "package"
	Channel Kind = "channel"
	Bundle  Kind = "bundle"

	image Kind = "image" // of a bundle, in a template
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Package, Channel, Bundle} }

// Schema returns the schema of the objects of this kind.
func (k Kind) Schema() string { return "olm." + string(k) }

// kindOf returns the object kind for a schema, which starts with "olm.".
func kindOf(schema string) Kind { return Kind(schema[len("olm."):]) }

// open opens the catalog or template at a path. It reads the identities of all objects in a catalog, which must all be
// readable, or a whole template.
func open(ctx context.Context, path string, o Options) (*target, error) {
	t := &target{path: path}
	source := declcfg.Source{Name: path, Record: &t.record, Read: o.Read, MaxObject: o.MaxObject}
	switch r := reference.Of(path); r.Kind {
	case reference.Directory:
		source.FS, t.isTree = os.DirFS(path), true
	case reference.File:
		source.FS, source.File = os.DirFS(filepath.Dir(path)), filepath.Base(path)
		found, err := t.openTemplate(source)
		if found || err != nil {
			return t, err
		}
	case reference.Missing:
		if o.Create && errors.Is(r.Err, fs.ErrNotExist) {
			t.isMissing = true
			return t, nil
		}
		return nil, fmt.Errorf("edit %q: %w", path, r.Err)
	default:
		return nil, fmt.Errorf("edit %q: want a directory or a file with a catalog, or a template", path)
	}
	var err error
	t.metas, err = declcfg.Metas(ctx, source)
	return t, err
}

func (t *target) load(name string) (*pkg, error) {
	p := &pkg{name: name}
	var errs []error
	own := slices.DeleteFunc(slices.Clone(t.metas), func(m *declcfg.Meta) bool { return m.Owner() != name })
	err := declcfg.ReadAll(own, func(o *declcfg.Object) error {
		v, err := o.Decode()
		errs = append(errs, err)
		doc := o.Document()
		u := &unit{
			text:   text{file: o.Pos.File, start: doc.Start, source: source{doc.Text, doc.YAML}},
			offset: doc.Offset, old: doc.Text,
		}
		p.units = append(p.units, u)
		p.items = append(p.items, &item{Meta: o.Meta, unit: u, index: -1, value: v})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, errors.Join(errs...)
}

// openTemplate reads a template. It reports false if the file is not a template.
func (t *target) openTemplate(s declcfg.Source) (found bool, err error) {
	f, err := os.Open(t.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !template.Recognized(f, info.Size()) {
		return false, err
	}
	t.record.Add(t.path, s.FS, s.File, info)
	content, err := os.ReadFile(t.path)
	if err != nil {
		return true, err
	}
	parsed, err := template.Parse(t.path, content, template.Detect, nil)
	if err != nil {
		return true, err
	}
	t.pkg = &pkg{template: parsed.Type, parsed: parsed, content: content}
	return true, t.pkg.readTemplate(t.path)
}

// readTemplate reads the only document of a template.
func (p *pkg) readTemplate(path string) error {
	for doc, err := range document.All(bytes.NewReader(p.content), int64(len(p.content))) {
		switch {
		case doc == nil:
			return err
		case len(p.units) > 0:
			err := errors.New("a template is one document: remove what is behind it")
			return &declcfg.Error{Pos: doc.Place.Pos(path), Err: err}
		}
		text := text{file: path, start: doc.Start, source: source{bytes.Clone(doc.Text), doc.YAML}}
		p.units = append(p.units, &unit{text: text, offset: doc.Offset, old: text.bytes})
		if err := p.readEntries(p.units[0], doc.JSON.Clone()); err != nil {
			return err
		}
	}
	return nil
}

// readEntries reads the objects in a template, if its type has any. All belong to the package of the template, because
// bundles that are listed by image do not name their package.
func (p *pkg) readEntries(u *unit, raw jsontext.Value) error {
	if p.template == template.Semver {
		return nil
	}
	var content struct {
		Entries []jsontext.Value `json:"entries"`
	}
	if err := json.Unmarshal(raw, &content, document.Lenient, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	for i, raw := range content.Entries {
		o, err := declcfg.NewObject(declcfg.Pos{File: u.file}, raw)
		if err != nil {
			return err
		}
		v, err := o.Decode()
		if err != nil {
			return err
		}
		if o.Schema == declcfg.SchemaPackage {
			p.name = o.Name
		}
		p.items = append(p.items, &item{Meta: o.Meta, unit: u, index: i, value: v})
	}
	return nil
}
