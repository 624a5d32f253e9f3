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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// open reads what is at a path: of a catalog what its objects are, and all of a template.
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
	return t, t.readCatalog(ctx, source)
}

// readCatalog finds the objects of a catalog, of which all must be readable.
func (t *target) readCatalog(ctx context.Context, source declcfg.Source) error {
	var errs []error
	identity := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(ctx, identity, source) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.metas = append(t.metas, m)
	}
	slices.SortStableFunc(errs, declcfg.CompareErrors)
	return errors.Join(errs...)
}

// load reads the objects of one package of a catalog.
func (t *target) load(name string) (*pkg, error) {
	p := &pkg{name: name}
	var errs []error
	for _, m := range t.metas {
		if m.Owner() != name {
			continue
		}
		o, err := m.Read()
		if err != nil {
			return nil, err
		}
		v, err := o.Decode()
		errs = append(errs, err)
		doc := o.Document()
		u := &unit{
			text:   text{file: m.Pos.File, start: doc.Start, source: source{doc.Text, doc.YAML}},
			offset: doc.Offset, old: doc.Text,
		}
		p.units = append(p.units, u)
		p.items = append(p.items, &item{Meta: m, unit: u, index: -1, value: v})
	}
	return p, errors.Join(errs...)
}

// openTemplate reads a template. It reports false for a file that is none.
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

// readTemplate reads the document of a template, which is the only one.
func (p *pkg) readTemplate(path string) error {
	skip := func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() }
	var failed error
	for chunk := range document.Split(bytes.NewReader(p.content), int64(len(p.content)), 0) {
		err := chunk.Read(skip, func(doc *document.Document, err error) {
			switch {
			case failed != nil:
			case doc == nil:
				failed = err
			case len(p.units) > 0:
				pos := declcfg.Pos{File: path, Line: doc.Place.Line, Column: doc.Place.Column}
				failed = &declcfg.Error{Pos: pos, Err: errors.New("a template is one document: remove what is behind it")}
			default:
				text := text{file: path, start: doc.Start, source: source{bytes.Clone(doc.Text), doc.YAML}}
				p.units = append(p.units, &unit{text: text, offset: doc.Offset, old: text.bytes})
				failed = p.readEntries(p.units[0], doc.JSON.Clone())
			}
		})
		chunk.Recycle()
		if failed = cmp.Or(failed, err); failed != nil {
			break
		}
	}
	return failed
}

// readEntries reads the objects in a template, if its type has any. All belong to its package: bundles that are named
// by an image do not say so.
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
