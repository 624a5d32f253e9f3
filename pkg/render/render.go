// Package render reads the objects of references: a catalog directory or file, an archive, standard input, a bundle
// directory, or an image of a catalog or a bundle.
//
//	catalog, err := render.Open(ctx, []string{"catalog", "more.tar.gz"}, render.Options{})
//	defer catalog.Close()
//	metas, err := catalog.Metas(ctx)
//	err = declcfg.Write(ctx, os.Stdout, metas, declcfg.WriteOptions{Edit: catalog.Edit})
//
// References are opened concurrently, more of them over HTTP/2, but bundles are decompressed and parsed in turn, one
// for each CPU, so that memory hardly grows with the number of references.
//
// A [Lock] pins images by digest, and the content of bundles, so that a bundle is found again in a catalog to reuse.
// With a [Shard], consecutive references are rendered apart; rendering the shards merges them. The last object of a
// shard (opm.shard) has its index, the number of shards and a digest of all references; a truncated shard lacks that
// object.
package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// The default number of references that are opened in parallel. Most of that time is spent waiting for registries; CPU
// work is limited by a semaphore.
const (
	defaultJobs = 20
	// multiplexedJobs is the number for images of registries that speak HTTP/2: requests share a connection.
	multiplexedJobs = 64
)

// A Catalog has the objects of one or more references, in their order. It stays open until Close, because objects are
// read again when they are written.
type Catalog struct {
	Sources []declcfg.Source

	// Lock has the digests of the references to images in registries, and the entries of Options.Lock for others.
	Lock Lock

	parsed  map[int]*declcfg.Meta // by source; see [opened]
	changes Changes
	shard   Shard
	merged  bool // of shards, whose objects opm itself has written
	skipped func(ref string, err error)
	record  *declcfg.Record
	reused  map[identity]bool // bundles from catalogs to reuse
	closers []func() error
}

// An identity identifies a bundle.
type identity struct{ pkg, name, image string }

// An opener opens the references of one Catalog.
type opener struct {
	Options
	turns    *semaphore.Weighted // limits the references being opened
	cpu      *semaphore.Weighted // limits CPU work: more references are opened at once than there are CPUs
	record   declcfg.Record
	bundles  *spool.Store
	reusable func(context.Context) (map[string][]*declcfg.Meta, error) // bundles by image; read once

	mu      sync.Mutex
	closers []func() error
}

// onClose adds a function for Close, which calls the functions in reverse order.
func (op *opener) onClose(closer func() error) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.closers = append(op.closers, closer)
}

// Open opens the references in parallel, and returns them in their order. The error joins the errors of all references
// that cannot be opened, unless they are skipped; after an error, nothing stays open. Stdin may be among them once.
func Open(ctx context.Context, refs []string, opts Options) (*Catalog, error) {
	if i := slices.Index(refs, Stdin); i >= 0 && opts.Stdin != nil && slices.Contains(refs[i+1:], Stdin) {
		return nil, fmt.Errorf("%q is given twice: standard input can be read only once", Stdin)
	}
	turns := opts.Jobs
	if opts.Jobs <= 0 {
		turns = max(defaultJobs, runtime.GOMAXPROCS(0))
		opts.Jobs = max(multiplexedJobs, turns)
	}
	op := &opener{Options: opts, turns: semaphore.NewWeighted(int64(turns))}
	op.cpu = semaphore.NewWeighted(int64(min(turns, runtime.GOMAXPROCS(0))))
	held := opts.Spool
	held.MemoryLimit = cmp.Or(held.MemoryLimit, bundleMemory)
	op.bundles = spool.NewStore(1, held)
	op.onClose(op.bundles.Close)
	var once sync.Once
	var byImage map[string][]*declcfg.Meta
	var err error
	op.reusable = func(ctx context.Context) (map[string][]*declcfg.Meta, error) {
		once.Do(func() { byImage, err = bundlesByImage(ctx, opts.Reuse) })
		return byImage, err
	}
	c, err := op.open(ctx, opts.Shard.Of(refs))
	if err == nil && opts.Shard != (Shard{}) {
		c.Sources = append(c.Sources, opts.Shard.marker(refs))
	}
	return c, err
}

func (op *opener) open(ctx context.Context, refs []string) (*Catalog, error) {
	c := &Catalog{
		changes: op.Changes, shard: op.Shard, skipped: op.Skipped, record: &op.record,
		parsed: map[int]*declcfg.Meta{}, reused: map[identity]bool{},
	}
	var errs []error
	open := func(ref string) *openedRef {
		o := &openedRef{opener: op, ref: ref}
		defer o.endTurn()
		if o.err = o.takeTurn(ctx); o.err == nil {
			o.err = o.open(ctx)
		}
		if op.Opened != nil {
			op.Opened(ref)
		}
		return o
	}
	for o := range parallel.Map(ctx, op.Jobs, slices.Values(refs), open) {
		for _, w := range o.warnings {
			op.Bundles.Warn(w)
		}
		if o.err != nil && op.Skipped != nil {
			op.Skipped(o.ref, o.err)
			continue
		}
		if o.err != nil {
			errs = append(errs, o.err)
			continue
		}
		c.add(o)
	}
	c.closers = op.closers
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := errors.Join(append(errs, op.bundles.Finish())...); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if op.Lock != nil {
		c.Lock.References = append(c.Lock.References, op.Lock.References...)
	}
	c.Lock.sort()
	return c, nil
}

// add adds the objects of a reference to the catalog.
func (c *Catalog) add(o *openedRef) {
	if o.parsed != nil {
		c.parsed[len(c.Sources)] = o.parsed
	}
	c.Sources = append(c.Sources, o.sources...)
	if o.locked != nil {
		c.Lock.References = append(c.Lock.References, *o.locked)
	}
	if o.reused != (identity{}) {
		c.reused[o.reused] = true
	}
}

// Edit makes the changes to a bundle before it is written; see [Changes.Edit]. In bundles from a catalog to reuse, the
// images have already been rewritten.
func (c *Catalog) Edit(b *declcfg.Bundle) error {
	if c.merged {
		for i := range b.Properties {
			b.Properties[i].Ordered = true
		}
	}
	if c.reused[identity{b.Package, b.Name, b.Image}] {
		return c.changes.ofReused().Edit(b)
	}
	return c.changes.Edit(b)
}

// Unchanged returns an error for every file that changed since it was first read; it wraps [declcfg.ErrChanged]. Call
// it after all needed objects have been read, and before their content is used. Objects that are read again later are
// compared with their hashes.
func (c *Catalog) Unchanged() error { return c.record.Check() }

// Close releases files and memory.
func (c *Catalog) Close() error {
	var errs []error
	for _, closer := range slices.Backward(c.closers) { // close an archive before its file
		errs = append(errs, closer())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// Metas reads every object and returns them in the order of [declcfg.Sort]. The error joins the errors of all objects
// that cannot be read, do not match their schema, lack their package, or cannot be changed; see also Skipped in
// [Options]. If files change meanwhile, it is the error of [Catalog.Unchanged]. Rendered shards are merged into the
// result of one run; the error names a missing shard. As in upstream, the objects are not validated.
func (c *Catalog) Metas(ctx context.Context) ([]*declcfg.Meta, error) {
	metas, errs := c.list(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(errs, place.CompareErrors)
	if err := c.Unchanged(); err != nil {
		return nil, err
	}
	if c.skipped == nil && errs != nil {
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		c.skipped("", err)
	}
	metas, err := c.merge(metas)
	declcfg.Sort(metas)
	return metas, err
}

// list returns the objects in their order, and the errors about the others.
func (c *Catalog) list(ctx context.Context) (metas []*declcfg.Meta, errs []error) {
	check := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, c.check(o) }
	var end int
	for first := 0; first < len(c.Sources); first = end {
		end = first + 1
		if m := c.parsed[first]; m != nil {
			metas = append(metas, m)
			continue
		}
		for end < len(c.Sources) && c.parsed[end] == nil {
			end++
		}
		for m, err := range declcfg.Map(ctx, check, c.Sources[first:end]...) {
			if err == nil {
				err = declcfg.CheckOwner(m)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			metas = append(metas, m)
		}
	}
	return metas, errs
}

// check returns an error if o cannot be written, so that nothing is written in that case.
func (c *Catalog) check(o *declcfg.Object) error {
	v, err := o.Decode()
	if err != nil {
		return err
	}
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	if err := o.CheckManifests(b); err != nil {
		return err
	}
	if !c.changes.mayFail() {
		return nil
	}
	if err := c.Edit(b); err != nil {
		return &declcfg.Error{Pos: o.Pos, Err: err}
	}
	return nil
}

// Changes are the changes to every rendered bundle, including the bundles of catalogs. The zero value makes only the
// changes that rendering always makes.
type Changes struct {
	Migration Migration // "" is MigrateNone
	Form      Form      // of the manifests, after the migration; "" keeps it
	Rewrites  []Rewrite // of images; the first that matches an image applies
}

// Edit makes the changes: it rewrites images, moves properties with manifests or their metadata behind the others,
// sorts related images by image, and converts manifests to the form.
//
// After an error, b may be partly changed.
func (c Changes) Edit(b *declcfg.Bundle) error {
	c.rewrite(b)
	slices.SortStableFunc(b.Properties, func(p, q declcfg.Property) int { return cmp.Compare(bulk(p), bulk(q)) })
	bundle.SortRelatedImages(b.RelatedImages)
	if c.migrates() {
		if _, err := bundle.MigrateToCSVMetadata(b); err != nil {
			return fmt.Errorf("migrate bundle %q to %s: %w", b.Name, lastMigration, err)
		}
	}
	if err := c.Form.convert(b); err != nil {
		return fmt.Errorf("convert bundle %q to the form %s: %w", b.Name, c.Form, err)
	}
	return nil
}

// ofReused returns the changes to a bundle that was rendered before with the same rewrites.
func (c Changes) ofReused() Changes {
	c.Rewrites = nil
	return c
}

// bulk returns 1 for properties that are written last, and 0 for others.
func bulk(p declcfg.Property) int {
	if p.Type == declcfg.PropertyBundleObject || p.Type == declcfg.PropertyCSVMetadata {
		return 1
	}
	return 0
}

// mayFail reports whether Edit can fail for a bundle that was read.
func (c Changes) mayFail() bool { return c.migrates() || c.Form != "" }

func (c Changes) migrates() bool { return c.Migration != MigrateNone && c.Migration != "" }
