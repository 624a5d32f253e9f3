package crdcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

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

	library  *library
	contents map[*declcfg.Meta]*contents
}

// Read reads catalogs, which may be single bundles. The error joins all read errors. The caller closes Bundles; the
// sources are not used after Read.
func Read(ctx context.Context, held image.SpoolOptions, sources ...declcfg.Source) (*Bundles, error) {
	library := &library{store: spool.NewStore(1, held), texts: map[digest]*io.SectionReader{}}
	b := &Bundles{&declcfg.Index{}, library, map[*declcfg.Meta]*contents{}}
	var errs []error
	for o, err := range declcfg.Map(ctx, b.library.object, sources...) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		b.Index.Add(o.meta, o.value)
		b.contents[o.meta] = o.contents
	}
	if errs != nil {
		slices.SortStableFunc(errs, declcfg.CompareErrors)
		return nil, errors.Join(append(errs, b.Close())...)
	}
	return b, nil
}

// An object is the part of a catalog object that is kept.
type object struct {
	meta     *declcfg.Meta
	value    any
	contents *contents // of a bundle
}

func (l *library) object(o *declcfg.Object) (object, error) {
	v, err := o.Decode()
	kept := object{meta: o.Meta}
	if b, ok := v.(*declcfg.Bundle); ok {
		kept.contents = l.add(b)
	}
	kept.value = declcfg.Slim(v)
	return kept, err
}

// Close releases the memory and the temporary files of the definitions.
func (b *Bundles) Close() error { return b.library.store.Close() }

// Packages returns the names of the packages, sorted.
func (b *Bundles) Packages() []string {
	var names []string
	for _, p := range b.Index.Packages() {
		names = append(names, p.Name)
	}
	return names
}

// A node is a bundle of an update.
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
		if isLoose(p) {
			next = neighbours(g)
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

// isLoose reports whether the bundles of a package come from outside a catalog, such as from bundle images.
func isLoose(p *declcfg.PackageIndex) bool { return len(p.Packages) == 0 && len(p.Channels) == 0 }

// nodes returns the bundles of a package by name. Of several bundles with one name it takes the first.
func (b *Bundles) nodes(p *declcfg.PackageIndex) map[string]*node {
	nodes := make(map[string]*node, len(p.Bundles))
	for _, o := range p.Bundles {
		if o.Value == nil || nodes[o.Value.Name] != nil {
			continue
		}
		pos := o.Meta.Pos
		if isLoose(p) && pos.Line == 1 { // the only object of a bundle directory or an image; it has no file
			pos.Line, pos.Column = 0, 0
		}
		nodes[o.Value.Name] = &node{
			Bundle: &graph.Bundle{Name: o.Value.Name}, pkg: p.Name, pos: pos, ref: o.Value.Image,
			contents: b.contents[o.Meta],
		}
	}
	return nodes
}

// neighbours yields each bundle with the next lower one, because bundles outside of a catalog have no edges.
func neighbours(p *graph.Package) iter.Seq2[*graph.Bundle, []*graph.Bundle] {
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
		for _, n := range wanting[ref] {
			n.contents = c
		}
	}
	catalog, err := open(ctx, refs, func(ref string, err error) { found(ref, &contents{err: err}) })
	if err != nil {
		return err
	}
	defer catalog.Close()
	for o, err := range declcfg.Map(ctx, b.library.object, catalog.Sources...) {
		if err != nil {
			return err
		}
		found(o.meta.Pos.File, o.contents) // each image is its own source
	}
	return nil
}
