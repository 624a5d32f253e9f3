package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

const createHint = "--create makes it"

// lacks reports whether t is a catalog without the package of a bundle. If the edit is about another package, that is
// the mistake.
func (t *target) lacks(name, chosen string) bool {
	return t.pkg == nil && (chosen == "" || chosen == name) && !slices.Contains(t.packages(), name)
}

// create writes a new package that has one channel and one bundle: in a directory to a file of its own, otherwise to
// the end of the only file.
func (t *target) create(ctx context.Context, a Add, o Options) (*Result, error) {
	if u := a.Updates; u.Replaces != nil || len(u.Skips) > 0 || u.SkipRange != "" {
		return nil, fmt.Errorf("the first bundle of package %q updates no other: leave out its updates", a.Bundle.Package)
	}
	file, form := t.newFile(a.Bundle.Package)
	text := a.newPackage(form)
	note := fmt.Sprintf("created package %q with default channel %q in %s", a.Bundle.Package, a.Channel, file)
	if !t.isTree && !t.isMissing {
		u, err := atEnd(file, text, form)
		if err != nil {
			return nil, err
		}
		return t.finish(ctx, &pkg{name: a.Bundle.Package, units: []*unit{u}, notes: []string{note}}, o)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create package %q: %s exists", a.Bundle.Package, file)
	}
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, render.Text(file, text))
	if err != nil {
		return nil, err
	}
	r := &Result{Notes: []string{note}, Problems: report.Problems}
	if len(r.Problems) > 0 {
		return r, nil
	}
	if o.DryRun {
		_, r.Diff, _ = bytes.Cut(diff.Diff(os.DevNull, nil, file, text), []byte("\n"))
		return r, nil
	}
	return r, atomicfile.WriteAll([]string{file}, func(_ string, w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// atEnd returns the text as documents behind all others in a file.
func atEnd(file string, text []byte, form declcfg.Format) (*unit, error) {
	old, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		text = append([]byte("\n"), text...)
	}
	u := &unit{offset: int64(len(old))}
	u.text.file, u.text.start = file, document.Place{Line: 1, Column: 1}.After(old)
	u.bytes, u.yaml = text, form == declcfg.YAML
	return u, nil
}

// newFile returns the file of a new package, and its format: YAML unless all other files are JSON.
func (t *target) newFile(pkg string) (string, declcfg.Format) {
	switch ext := filepath.Ext(t.path); {
	case t.isTree:
	case ext == ".json":
		return t.path, declcfg.JSON
	case ext == ".yaml", ext == ".yml":
		return t.path, declcfg.YAML
	}
	isOther := func(m *declcfg.Meta) bool { return filepath.Ext(m.Pos.File) != ".json" }
	if len(t.metas) > 0 && !slices.ContainsFunc(t.metas, isOther) {
		return filepath.Join(t.path, pkg, "catalog.json"), declcfg.JSON
	}
	return filepath.Join(t.path, pkg, "catalog.yaml"), declcfg.YAML
}

// newPackage returns the objects of a package with one bundle.
func (a Add) newPackage(form declcfg.Format) []byte {
	b := a.Bundle
	p := declcfg.Package{Schema: declcfg.SchemaPackage, Name: b.Package, DefaultChannel: a.Channel}
	if a.Package != nil {
		p.Description, p.Icon = a.Package.Description, a.Package.Icon
	}
	c := declcfg.Channel{
		Schema: declcfg.SchemaChannel, Name: a.Channel, Package: b.Package, Entries: []declcfg.Entry{{Name: b.Name}},
	}
	return form.Append(form.Append(form.Append(nil, &p), &c), b)
}
