package edit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/edit/internal/layout"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/yamljson"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// maxFormat is the maximum size of an object that is formatted, in bytes. Formatting needs several times that memory.
const maxFormat = 16 << 20

// Format writes a file of the given size from r to w in the layout of opm fmt, and reports whether that changes the
// file. The layout has a fixed order of objects and keys, one indentation, and quotes only when they are needed. An
// object in the layout of opm render -o yaml keeps it. The file is a catalog, a template, or any other YAML or JSON
// file. Comments stay with the values they are about. See docs/format.md.
//
// No value changes. An object that cannot be formatted is reported as a [*declcfg.Error] whose position begins with
// name; the returned error joins all of them, and the output is then incomplete. Objects are formatted one by one, so
// memory does not grow with the size of the file.
func Format(ctx context.Context, w io.Writer, name string, r io.ReaderAt, size int64) (changed bool, err error) {
	f := formatter{name: name, r: r}
	if err := f.split(size); err != nil {
		return false, err
	}
	if len(f.objects) == 0 { // only comments
		_, err := io.Copy(w, io.NewSectionReader(r, 0, size))
		return false, err
	}
	out := comparer{w: w, r: r, same: true}
	for text, err := range parallel.Try(ctx, 0, slices.Values(f.sorted()), f.format) {
		if err != nil {
			f.fail(err)
		}
		if len(f.errs) > 0 {
			continue
		}
		if _, err := out.Write(text); err != nil {
			return false, err
		}
	}
	return !out.same || out.off != size, cmp.Or(ctx.Err(), errors.Join(f.errs...))
}

type formatter struct {
	name    string
	r       io.ReaderAt
	objects []*formatObject // in file order
	header  []byte          // comments at the top of a YAML file that are about the whole file
	errs    []error
}

// A formatObject is an object of a file, with the comments around its text.
type formatObject struct {
	*declcfg.Meta
	start  document.Place // of the text
	offset int64
	size   int
	yaml   bool
	first  bool // it becomes the first object of the file

	before, after []byte
}

func (f *formatter) fail(err error) {
	place := document.Place{}
	if e, ok := errors.AsType[*document.Error](err); ok {
		place, err = e.Place, e.Err
	}
	f.errs = append(f.errs, &declcfg.Error{
		Pos: declcfg.Pos{File: f.name, Line: place.Line, Column: place.Column}, Err: err,
	})
}

func (f *formatter) split(size int64) error {
	end := int64(0) // of the previous object
	expanded := 0
	for chunk := range document.Split(f.r, size, maxFormat) {
		var head formatHead
		err := chunk.Read(head.read, func(doc *document.Document, err error) {
			if err != nil {
				f.fail(placedAt(doc, err))
				return
			}
			between, err := f.between(end, doc.Offset)
			if err != nil {
				f.fail(err)
				return
			}
			f.add(doc, &head, between)
			end = doc.Offset + int64(len(doc.Text))
		})
		chunk.Recycle()
		if expanded += chunk.Expanded; expanded > yamljson.MaxExpansion && err == nil {
			err = errors.New("YAML aliases of the file expand beyond 64 MB")
		}
		if err != nil {
			f.fail(err)
			break
		}
	}
	if n := len(f.objects); len(f.errs) == 0 && n > 0 && f.objects[n-1].yaml {
		after, err := f.between(end, size)
		if err != nil {
			f.fail(err)
		}
		f.objects[n-1].after = after
	}
	return errors.Join(f.errs...)
}

// placedAt returns err with the position of doc, unless doc is nil.
func placedAt(doc *document.Document, err error) error {
	if doc == nil {
		return err
	}
	return &document.Error{Place: doc.Place, Err: err}
}

// A formatHead has the keys that determine the position of an object in its file.
type formatHead struct {
	Schema  string `json:"schema"`
	Package string `json:"package"`
	Name    string `json:"name"`
}

func (h *formatHead) read(d *jsontext.Decoder, _ []byte) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != jsontext.KindBeginObject {
		return errors.New("want an object")
	}
	*h = formatHead{}
	_ = json.Unmarshal(value, h, document.Lenient, json.MatchCaseInsensitiveNames(true)) // elsewhere, keys have any type
	return nil
}

func (f *formatter) add(doc *document.Document, head *formatHead, before []byte) {
	o := &formatObject{
		Meta:  &declcfg.Meta{Schema: head.Schema, Package: head.Package, Name: head.Name},
		start: doc.Start, offset: doc.Offset, size: len(doc.Text), yaml: doc.YAML, before: before,
	}
	switch {
	case doc.Repaired && !doc.YAML:
		f.fail(placedAt(doc, errors.New("a key is repeated in this object, or text is not Unicode")))
		return
	case len(f.objects) > 0 && f.objects[0].yaml != doc.YAML:
		f.fail(placedAt(doc, errors.New("JSON and YAML in one file")))
		return
	case len(f.objects) == 0 && doc.YAML:
		n := headerSize(doc.Text)
		f.header = append(before, commentsOf(doc.Text[:n])...)
		o.before, o.start, o.offset, o.size = nil, o.start.After(doc.Text[:n]), o.offset+int64(n), o.size-n
	}
	f.objects = append(f.objects, o)
}

// headerSize returns the size of the file header in the text of the first object: the comments up to an empty line.
func headerSize(text []byte) (size int) {
	at, comment := 0, false
	for line := range bytes.Lines(text) {
		at += len(line)
		switch trimmed := bytes.TrimSpace(line); {
		case len(trimmed) == 0 && comment:
			size = at
		case len(trimmed) == 0:
		case trimmed[0] == '#':
			comment = true
		default:
			return size
		}
	}
	return size
}

// between returns the comments between two objects in YAML.
func (f *formatter) between(from, to int64) ([]byte, error) {
	text, err := f.read(from, to)
	return commentsOf(text), err
}

func (f *formatter) read(from, to int64) ([]byte, error) {
	text := make([]byte, to-from)
	if n, err := f.r.ReadAt(text, from); n < len(text) {
		return nil, cmp.Or(err, document.ErrChanged)
	}
	return text, nil
}

// commentsOf returns the comment lines of a text, and the comments after document markers.
func commentsOf(text []byte) (comments []byte) {
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		for _, marker := range []string{"---", "..."} {
			line = bytes.TrimPrefix(line, []byte(marker))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '#' {
			comments = append(append(comments, line...), '\n')
		}
	}
	return comments
}

// sorted returns the objects in the order of [declcfg.Sort].
func (f *formatter) sorted() []*formatObject {
	metas := make([]*declcfg.Meta, len(f.objects))
	byMeta := make(map[*declcfg.Meta]*formatObject, len(f.objects))
	for i, o := range f.objects {
		metas[i], byMeta[o.Meta] = o.Meta, o
	}
	declcfg.Sort(metas)
	sorted := make([]*formatObject, len(metas))
	for i, m := range metas {
		sorted[i] = byMeta[m]
	}
	sorted[0].first = true
	return sorted
}

func (f *formatter) format(o *formatObject) ([]byte, error) {
	text, err := f.read(o.offset, o.offset+int64(o.size))
	if err != nil {
		return nil, err
	}
	if !o.yaml {
		out, err := layout.JSON(make([]byte, 0, len(text)), text, keyOrder())
		return out, o.placed(err, 0)
	}
	before := o.before
	if o.first && len(f.header) > 0 {
		before = slices.Concat(f.header, newline, before)
	}
	out := make([]byte, 0, len(text)+len(separator))
	if o.Schema != "" || len(f.objects) > 1 { // otherwise it is a configuration file
		out = append(out, separator...)
	}
	if len(o.before) == 0 && len(o.after) == 0 && isPrinted(text) {
		return append(append(out, before...), text...), nil
	}
	out, err = layout.YAML(out, slices.Concat(before, text, o.after), keyOrder())
	return out, o.placed(err, bytes.Count(before, newline))
}

// isPrinted reports whether the text of an object looks like the output of opm render -o yaml, in which all keys are
// sorted. Such text without comments is kept, so the output of opm and of upstream needs no formatting.
func isPrinted(text []byte) bool {
	raw, err := yamljson.Append(nil, text)
	return err == nil && bytes.Equal(format.AppendYAML(nil, raw), text)
}

var newline, separator = []byte("\n"), []byte("---\n")

// placed converts the position in err to a position in the file. The position in err is in a text that has the given
// number of lines before the object.
func (o *formatObject) placed(err error, before int) error {
	e, ok := errors.AsType[*document.Error](err)
	if !ok {
		return err
	}
	place := document.Place{Line: 1, Column: 1} // for an error in the lines before the object
	if e.Place.Line > before {
		place = document.Place{Line: e.Place.Line - before, Column: e.Place.Column}
	}
	return &document.Error{Place: place.In(o.start), Err: e.Err}
}

// A comparer writes to w and compares the written bytes with r.
type comparer struct {
	w    io.Writer
	r    io.ReaderAt
	off  int64
	same bool
}

func (c *comparer) Write(p []byte) (int, error) {
	if c.same {
		old := make([]byte, len(p))
		n, _ := c.r.ReadAt(old, c.off) // an error is a difference: r was readable before
		c.same = bytes.Equal(old[:n], p)
	}
	c.off += int64(len(p))
	return c.w.Write(p)
}

// keyOrder returns the key order of all object types that opm knows, which is the order of the fields of their Go
// types.
var keyOrder = sync.OnceValue(func() *layout.Order {
	objects := map[string]*skim.Shape{
		declcfg.SchemaPackage:      skim.ShapeOf(reflect.TypeFor[declcfg.Package]()),
		declcfg.SchemaChannel:      skim.ShapeOf(reflect.TypeFor[declcfg.Channel]()),
		declcfg.SchemaBundle:       skim.ShapeOf(reflect.TypeFor[declcfg.Bundle]()),
		declcfg.SchemaDeprecations: skim.ShapeOf(reflect.TypeFor[declcfg.Deprecations]()),
	}
	all := maps.Clone(objects)
	for schema, t := range template.Shapes() {
		all[schema] = skim.ShapeOf(t)
	}
	return &layout.Order{Shapes: all, Any: &layout.Order{Shapes: objects}} // any JSON in a template is such an object
})
