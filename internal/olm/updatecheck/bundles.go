package updatecheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// Bundles are the bundles of catalogs, with their CustomResourceDefinitions and update edges.
type Bundles struct {
	Index *declcfg.Index

	memo     *Memo
	store    *spool.Store // of the definitions that memo did not have
	finished bool         // the store can be read
	contents map[declcfg.Key]*contents
}

// Read reads catalogs, which may be single bundles. The options are for the temporary files of the definitions. The
// error joins all read errors. The caller closes the Bundles; the sources are not used after Read.
func Read(ctx context.Context, opts image.SpoolOptions, sources ...declcfg.Source) (*Bundles, error) {
	var m Memo
	b, err := m.Read(ctx, opts, sources...)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return b, nil
}

// A Memo keeps what checks with the same options have in common, for catalogs with equal files, such as those for
// several versions of a platform: equal files are not read again, images not opened again, and pairs of definitions not
// compared again. The zero value is empty.
type Memo struct {
	files    memo.Memo
	images   map[string]*contents // by reference
	verdicts map[pair]verdict

	mu    sync.Mutex
	texts map[digest]*io.SectionReader // of all definitions
	all   []*Bundles
}

// Close closes all Bundles of the memo, even those of catalogs with errors.
func (m *Memo) Close() error {
	var errs []error
	for _, b := range m.all {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// Read is [Read] with the memo, whose Close closes the Bundles. They must stay open as long as others are read.
func (m *Memo) Read(ctx context.Context, opts image.SpoolOptions, sources ...declcfg.Source) (*Bundles, error) {
	if m.texts == nil {
		m.images, m.verdicts, m.texts = map[string]*contents{}, map[pair]verdict{}, map[digest]*io.SectionReader{}
	}
	if n := len(m.all); n > 0 { // its catalog may not have been checked
		if err := m.all[n-1].finish(); err != nil {
			return nil, err
		}
	}
	b := &Bundles{
		Index: &declcfg.Index{}, memo: m, store: spool.NewStore(1, opts), contents: map[declcfg.Key]*contents{},
	}
	m.all = append(m.all, b)
	keep := func(m *declcfg.Meta, o keptObject) {
		b.Index.Add(m, o.value)
		b.contents[m.Key()] = o.contents
	}
	if err := declcfg.Collect(m.files.With(ctx), b.keep, keep, sources...); err != nil {
		return nil, err
	}
	return b, nil
}

// A keptObject is the part of a catalog object that is kept in memory.
type keptObject struct {
	value    any
	contents *contents // of a bundle
}

// keep stores the definitions of an object, if it is a bundle.
func (b *Bundles) keep(o *declcfg.Object) (keptObject, error) {
	v, err := o.Decode()
	var kept keptObject
	if v, ok := v.(*declcfg.Bundle); ok {
		kept.contents = b.add(v)
	}
	kept.value = declcfg.Slim(v)
	return kept, err
}

// finish makes the stored definitions readable. No more can be added.
func (b *Bundles) finish() error {
	if b.finished {
		return nil
	}
	b.finished = true
	return b.store.Finish()
}

// Close releases the memory and the temporary files of the definitions.
func (b *Bundles) Close() error { return b.store.Close() }

// A node is a bundle that updates another bundle or is updated.
type node struct {
	*graph.Bundle
	pkg string
	pos declcfg.Pos
	ref string // of its image, or ""
	*contents
}

// An update is a bundle and the bundles it updates.
type update struct {
	to   *node
	from []*node
}

// maxUpdates is the maximum number of updates to check, so that wide skip ranges do not take forever.
const maxUpdates = 1_000_000

// updates returns the updates of one package, or of all packages if pkg is "".
func (b *Bundles) updates(pkg string, selects func(pkg, bundle string) bool) ([]update, error) {
	var all []update
	n := 0
	for _, p := range b.Index.Packages() {
		if pkg != "" && p.Name != pkg {
			continue
		}
		nodes := b.nodes(p)
		g := graph.NewPackage(p)
		next := g.Updates()
		if isOutsideCatalog(p) {
			next = adjacentVersions(g)
		}
		for to, from := range next {
			if selects != nil && !selects(p.Name, to.Name) {
				continue
			}
			if n += len(from); n > maxUpdates {
				return nil, fmt.Errorf("package %q: more than %d updates in the catalog; check packages one by one",
					p.Name, maxUpdates)
			}
			u := update{to: nodes[to.Name]}
			for _, b := range from {
				if nodes[b.Name] == nil {
					nodes[b.Name] = &node{Bundle: b, pkg: p.Name, contents: &contents{err: errNotInCatalog}}
				}
				u.from = append(u.from, nodes[b.Name])
			}
			all = append(all, u)
		}
	}
	return all, nil
}

var errNotInCatalog = errors.New("it is not in the catalog")

// isOutsideCatalog reports whether the bundles of a package are not from a catalog, but from bundle directories or
// images.
func isOutsideCatalog(p *declcfg.PackageIndex) bool {
	return len(p.Packages) == 0 && len(p.Channels) == 0
}

// nodes returns the bundles of a package by name. If several bundles have the same name, it uses the first.
func (b *Bundles) nodes(p *declcfg.PackageIndex) map[string]*node {
	nodes := make(map[string]*node, len(p.Bundles))
	for _, o := range p.Bundles {
		if o.Value == nil || nodes[o.Value.Name] != nil {
			continue
		}
		pos := o.Meta.Pos
		if isOutsideCatalog(p) && pos.Line == 1 { // the only object of a bundle directory or an image; it has no file
			pos.Line, pos.Column = 0, 0
		}
		nodes[o.Value.Name] = &node{
			Bundle: &graph.Bundle{Name: o.Value.Name}, pkg: p.Name, pos: pos, ref: o.Value.Image,
			contents: b.contents[o.Meta.Key()],
		}
	}
	return nodes
}

// adjacentVersions yields each bundle with the bundle of the next lower version, as the updates of bundles outside of a
// catalog, which have no edges.
func adjacentVersions(p *graph.Package) iter.Seq2[*graph.Bundle, []*graph.Bundle] {
	return func(yield func(to *graph.Bundle, from []*graph.Bundle) bool) {
		for i := 1; i < len(p.Bundles); i++ {
			if !yield(p.Bundles[i], p.Bundles[i-1:i]) {
				return
			}
		}
	}
}

// Images opens the images of bundles, and calls failed for each image that it cannot open.
type Images func(ctx context.Context, refs []string, failed func(ref string, err error)) (*render.Catalog, error)

// pull reads the bundle images of updates whose manifests are not in the catalog.
func (b *Bundles) pull(ctx context.Context, updates []update, open Images) error {
	wanting := map[string][]*node{} // nodes by image
	var refs []string
	for _, u := range updates {
		for _, n := range append([]*node{u.to}, u.from...) {
			if !errors.Is(n.err, bundle.ErrNoManifests) {
				continue
			}
			n.contents = &contents{err: errNoImage}
			if n.ref == "" {
				continue
			}
			if c := b.memo.images[n.ref]; c != nil {
				n.contents = c
				continue
			}
			if wanting[n.ref] == nil {
				refs = append(refs, n.ref)
			}
			wanting[n.ref] = append(wanting[n.ref], n)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	found := func(ref string, c *contents) {
		b.memo.images[ref] = c
		for _, n := range wanting[ref] {
			n.contents = c
		}
	}
	catalog, err := open(ctx, refs, func(ref string, err error) { found(ref, &contents{err: err}) })
	if err != nil {
		return err
	}
	defer catalog.Close()
	for o, err := range declcfg.Convert(ctx, b.keep, catalog.Sources...) {
		if err != nil {
			return err
		}
		found(o.Meta.Pos.File, o.Value.contents) // each image is its own source
	}
	return nil
}
