// Package edit changes catalogs and templates in place: it adds a bundle, promotes it to another channel, deprecates or
// removes what is in a package, and sets the default channel.
//
//	result, err := edit.Apply(ctx, "catalog", edit.Promote{Bundle: "kiln.v2.0.0", To: "stable"}, edit.Options{})
//	if len(result.Problems) > 0 { … } // the package would not be valid, and nothing was written
//
// An edit replaces a few bytes of a file. Comments, order, quoting and indentation around them stay, and new text is
// written as its neighbours are. Only the documents that change are parsed for that. What cannot be changed without a
// guess, such as a value that an alias repeats, is an error at its place.
//
// The package is validated as it will be before a file is replaced, as a whole. While one edit changes a file, others
// of the same file fail.
package edit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Options say how an edit is made.
type Options struct {
	Package   string      // that the edit is about; "" finds it by what the edit names
	DryRun    bool        // writes nothing
	Create    bool        // makes the channel if there is none, and for [Add] also the package and the catalog
	MaxObject int64       // see [declcfg.Source]
	Read      func(int64) // see [declcfg.Source]
}

// An Edit is one change to a package: [Add], [Promote], [Deprecate], [DefaultChannel] or [Remove].
type Edit interface {
	// subject is what the package must have.
	subject() (schema, name string)
	// apply changes the package.
	apply(p *pkg) error
}

// A Result is what an edit did, or would do.
type Result struct {
	Notes []string // what was decided for the user, and what to do next; one sentence each
	Diff  []byte   // what changes in the files, as a unified diff; nil unless Options.DryRun is set

	// Problems are the errors that the package would have after the edit. If there are any, nothing was written.
	Problems []*problem.Problem
}

// Apply makes an edit to a catalog, which is a directory or a file, or to a template.
func Apply(ctx context.Context, path string, e Edit, o Options) (*Result, error) {
	t, err := open(ctx, path, o)
	a, isAdd := e.(Add)
	switch {
	case isAdd && errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; %s", err, createHint)
	case err != nil:
		return nil, err
	}
	if isAdd && t.lacks(a.Bundle.Package, o.Package) {
		if !o.Create {
			return nil, fmt.Errorf("%w; %s", t.unknown(declcfg.SchemaPackage, a.Bundle.Package), createHint)
		}
		return t.create(ctx, a, o)
	}
	p, err := t.choose(e, o.Package)
	if err != nil {
		return nil, err
	}
	p.create = o.Create
	if err := e.apply(p); err != nil {
		return nil, err
	}
	return t.finish(ctx, p, o)
}

// finish validates the package, and writes its files or shows what changes in them.
func (t *target) finish(ctx context.Context, p *pkg, o Options) (*Result, error) {
	r := &Result{Notes: p.notes}
	w, err := t.newWriter(p)
	if err != nil {
		return nil, err
	}
	defer w.close()
	r.Problems, err = p.problems(ctx)
	if err == nil && o.DryRun {
		r.Diff, err = w.diff()
	}
	if err != nil || len(r.Problems) > 0 || o.DryRun {
		return r, err
	}
	return r, w.write()
}

// A target is what is edited.
type target struct {
	path      string
	isTree    bool            // a directory
	isMissing bool            // nothing is at the path
	metas     []*declcfg.Meta // of a catalog
	pkg       *pkg            // of a template
	record    declcfg.Record
}

// choose returns the package that an edit is about.
func (t *target) choose(e Edit, name string) (*pkg, error) {
	if t.pkg != nil {
		return t.pkg, t.pkg.checkName(name)
	}
	packages := t.packages()
	var owners []string
	schema, subject := e.subject()
	for _, m := range t.metas {
		if m.Schema == schema && m.Name == subject {
			owners = append(owners, m.Owner())
		}
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	switch {
	case name == "" && len(packages) == 1:
		name = packages[0]
	case name == "" && len(owners) == 1:
		name = owners[0]
	case name == "" && len(owners) > 1:
		return nil, fmt.Errorf("several packages have a %s %q: name one with --package: %q", kindOf(schema), subject, owners)
	case name == "":
		return nil, t.unknown(schema, subject)
	}
	if !slices.Contains(packages, name) {
		return nil, notFound("no", Package, name, packages)
	}
	return t.load(name)
}

// packages returns the names of the packages of a catalog.
func (t *target) packages() (names []string) {
	for _, m := range t.metas {
		if m.Schema == declcfg.SchemaPackage {
			names = append(names, m.Name)
		}
	}
	return names
}

// notFound returns the error about something that is not there, with the nearest of the names that are.
func notFound(no string, kind Kind, name string, names []string) error {
	return declcfg.NotFound(no+" "+string(kind), name, names)
}

// unknown returns the error about something that no package has.
func (t *target) unknown(schema, name string) error {
	var names []string
	for _, m := range t.metas {
		if m.Schema == schema {
			names = append(names, m.Name)
		}
	}
	return notFound("no", kindOf(schema), name, names)
}

// A Kind is what a name is the name of.
type Kind string

// The kinds of what can be deprecated and removed.
const (
	Package Kind = "package"
	Channel Kind = "channel"
	Bundle  Kind = "bundle"

	image Kind = "image" // of a bundle, in a template
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Package, Channel, Bundle} }

// Schema returns the schema of what is of that kind.
func (k Kind) Schema() string { return "olm." + string(k) }

// kindOf returns the kind of what has a schema.
func kindOf(schema string) Kind { return Kind(schema[len("olm."):]) }
