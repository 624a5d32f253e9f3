package store

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// BuildOptions select the content of a store. The zero value selects the content for the registry protocol.
type BuildOptions struct {
	// HTTP also stores all objects as JSON, for [Store.Catalogs].
	HTTP bool

	// Check checks the catalog while it is read; nil disables checks.
	Check Check
}

// A Check checks a catalog while a store is built from it.
type Check interface {
	// Object checks one object of a source, given the value or the error of Decode. It may be called concurrently, and
	// may keep and change the value.
	Object(source int, o *declcfg.Object, value any, err error) any
	// Add is called with each result of Object, or with the error of reading an object, in the order of the catalog.
	Add(source int, m *declcfg.Meta, object any, err error)
	// Done is called after the last Add. Its error is the error of the build, even if the build also failed otherwise.
	Done(context.Context) error
}

// Temp builds the store of the catalog in an unnamed file in dir, and opens it. The file disappears when the Store is
// closed or the process ends in any way. If dir is "", it is [os.TempDir]. The errors are the same as for [Write].
func Temp(ctx context.Context, dir string, key Key, opts BuildOptions, sources ...declcfg.Source) (*Store, error) {
	f, unlock, err := atomicfile.Temp(dir)
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	unlock()
	if err == nil {
		err = Write(ctx, f, key, opts, sources...)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return newFromFile(f, key)
}

// ErrChanged is wrapped by the error about a catalog that no longer has the key.
var ErrChanged = errors.New("the catalog changed while it was being read")

// Write writes the store of the catalog to w. What it wrote is only valid if Write returns nil.
//
// The catalog must be valid according to package validate: relations are only checked if they would make the file
// invalid. The error joins the problems of reading and encoding, sorted by position, each a [*declcfg.Error]. It is
// also an error if the catalog changes during the build and no longer has the key.
func Write(ctx context.Context, w io.Writer, key Key, opts BuildOptions, sources ...declcfg.Source) error {
	b := &builder{
		opts: opts, packer: newPacker(),
		bundles: map[declcfg.Key]*builtBundle{}, texts: map[declcfg.Key]packageTexts{},
		kinds: map[declcfg.GVK]*builtKind{}, names: names{numbers: map[string]uint32{}},
	}
	b.records = &recorder{w: bufio.NewWriterSize(w, 256<<10), index: &b.index}
	if _, err := b.records.Write(header(key)); err != nil {
		return err
	}
	for i, s := range sources {
		if err := b.read(ctx, i, s); err != nil {
			return err
		}
	}
	b.packer = newPacker() // release the buffers of large objects
	checked := make(chan error, 1)
	go func() {
		defer close(checked)
		if opts.Check != nil {
			checked <- opts.Check.Done(ctx)
		}
	}()
	err := b.finish(ctx, key, sources)
	return cmp.Or(<-checked, err)
}

func (b *builder) finish(ctx context.Context, key Key, sources []declcfg.Source) error {
	if len(b.errs) == 0 {
		for p := range b.catalog.Each() {
			b.linkPackage(p)
		}
		b.linkEntries()
		b.linkEdges()
		b.linkKinds()
		slices.SortStableFunc(b.index.Custom, func(x, y *index.Custom) int {
			return cmp.Or(cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Package, y.Package))
		})
	}
	if len(b.errs) > 0 {
		return place.JoinErrors(b.errs)
	}
	if err := b.writeLists(ctx); err != nil {
		return err
	}
	switch now, err := KeyOf(ctx, sources...); {
	case err != nil:
		return err
	case now != key:
		return ErrChanged
	}
	for _, s := range sources { // they may have changed and been changed back
		if s.Record.Check() != nil {
			return ErrChanged
		}
	}
	b.index.Strings = b.names.list
	return b.records.finish()
}

// A builder builds one store. It encodes and writes the objects of the catalog as they are read, and keeps their
// relations in memory until it writes them as an index at the end.
type builder struct {
	opts    BuildOptions
	packer  *packer
	records *recorder
	index   index.Index
	names   names
	errs    []error

	catalog declcfg.Index
	bundles map[declcfg.Key]*builtBundle
	texts   map[declcfg.Key]packageTexts // by olm.package
	kinds   map[declcfg.GVK]*builtKind
	lines   lineWriter
	entries []*builtEntry // by package, channel and bundle
	listed  []*builtEntry // in the order of lists
}

type builtBundle struct {
	fields record
	body   uint32 // the number of a record
	kinds  []*builtKind
	whole  bool
	number uint32 // in the index, once it is linked
}

// A builtKind is a kind, and the entries of bundles that provide it.
type builtKind struct {
	declcfg.GVK
	providers []uint32
}

// packageTexts are the texts of a package that are part of its bundles, as in [index.Package].
type packageTexts struct{ description, icon uint32 }

type object struct {
	meta    *declcfg.Meta
	value   any // only with the fields that are relations; nil for custom schemas
	bundle  *bundle
	records []record
	line    line
	checked any   // the result of the Check
	err     error // the error of encoding
}

// read reads a source into the store. The error is a write error, or ctx.Err(); errors of the catalog are collected.
func (b *builder) read(ctx context.Context, source int, s declcfg.Source) error {
	b.lines.begin(b)
	object := func(o *declcfg.Object) (*object, error) { return b.object(source, o), nil }
	for o, err := range declcfg.Map(ctx, object, s) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = b.check(source, o, err)
		if err != nil {
			b.errs = append(b.errs, err)
			continue
		}
		if err := b.add(o); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.lines.end(b)
}

// object encodes an object and checks it on its own. It may be called concurrently.
func (b *builder) object(source int, m *declcfg.Object) *object {
	value, err := m.Decode()
	o := &object{meta: m.Meta, err: err}
	if err == nil {
		o.err = b.encode(o, m, value)
	}
	if b.opts.Check != nil {
		o.checked = b.opts.Check.Object(source, m, value, err)
	}
	return o
}

// check adds an object, or the error of reading it, to the check. It returns the error of reading or encoding the
// object.
func (b *builder) check(source int, o *object, err error) error {
	if b.opts.Check != nil {
		if err == nil {
			b.opts.Check.Add(source, o.meta, o.checked, nil)
		} else {
			b.opts.Check.Add(source, nil, nil, err)
		}
	}
	if err == nil {
		err = o.err
	}
	return err
}

// encode encodes a decoded object as records. It does not change value.
func (b *builder) encode(o *object, m *declcfg.Object, value any) (err error) {
	switch v := value.(type) {
	case *declcfg.Bundle:
		if o.bundle, err = newBundle(b.packer, m.Meta, v); err != nil {
			return err
		}
		o.value = &declcfg.BundleSummary{Name: v.Name}
	case *declcfg.Package:
		o.records = []record{b.packer.record(descriptionMember(v)), b.packer.record(iconMember(v))}
		slim := *v
		o.value = declcfg.Slim(&slim)
	case *declcfg.Channel:
		slim := *v
		o.value = declcfg.Slim(&slim)
	case *declcfg.Deprecations:
		o.value = &declcfg.Deprecations{Package: v.Package, Entries: slices.Clone(v.Entries)}
	case nil:
		content, err := structOf(m.JSON())
		if err != nil {
			return at(m.Meta, err)
		}
		o.records = []record{b.packer.record(content)}
	}
	if b.opts.HTTP {
		o.line = b.packer.line(m)
	}
	return nil
}

// add writes the records of an object, and keeps its relations.
func (b *builder) add(o *object) error {
	written := make([]uint32, len(o.records)) // numbers of records plus one; 0 for none
	for i, r := range o.records {
		if len(r.data) == 0 {
			continue
		}
		number, err := b.records.add(r)
		if err != nil {
			return at(o.meta, err)
		}
		written[i] = number + 1
	}
	switch o.value.(type) {
	case nil:
		custom := &index.Custom{Schema: o.meta.Schema, Package: o.meta.Package, Record: written[0] - 1}
		b.index.Custom = append(b.index.Custom, custom)
	case *declcfg.Package:
		b.texts[o.meta.Key()] = packageTexts{written[0], written[1]}
	}
	b.catalog.Add(o.meta, o.value)
	if o.bundle != nil {
		if err := b.addBundle(o); err != nil {
			return at(o.meta, err)
		}
	}
	if !b.opts.HTTP {
		return nil
	}
	return b.lines.add(b, o.meta, o.line)
}

func (b *builder) addBundle(o *object) error {
	body, err := b.records.add(o.bundle.body)
	if err != nil {
		return err
	}
	built := &builtBundle{fields: o.bundle.fields, body: body, whole: o.bundle.whole}
	for _, k := range o.bundle.kinds {
		if b.kinds[k] == nil {
			b.kinds[k] = &builtKind{GVK: k}
		}
		built.kinds = append(built.kinds, b.kinds[k])
	}
	b.bundles[o.meta.Key()] = built
	return nil
}

func (b *builder) fail(m *declcfg.Meta, ptr jsontext.Pointer, err error) {
	b.errs = append(b.errs, withPosition(m, ptr, err))
}

func at(m *declcfg.Meta, err error) error { return fmt.Errorf("%v: %w", m.Pos, err) }
