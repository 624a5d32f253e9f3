package render

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// openBundle adds the bundle in fsys, which is a directory, an archive or an image; image is its reference, or "".
func (o *opened) openBundle(ctx context.Context, fsys fs.FS, what, image string) error {
	if o.Bundles == nil {
		return &BundleError{o.ref, "a bundle " + what}
	}
	opts := *o.Bundles
	opts.Image = image
	if opts.Warn != nil {
		opts.Warn = func(e *declcfg.Error) { o.warnings = append(o.warnings, e) }
	}
	if err := o.turn.take(ctx); err != nil {
		return err
	}
	defer o.turn.give()
	b, err := bundle.Parse(fsys, o.ref, opts)
	if err != nil {
		return err
	}
	return o.addBundle(b)
}

// addBundle adds b, and its digest to the lock.
func (o *opened) addBundle(b *declcfg.Bundle) error {
	if err := o.holdBundle(b); err != nil {
		return err
	}
	return o.lockBundle(b)
}

// holdBundle adds b as a catalog of one object, written as opm writes it.
func (o *opened) holdBundle(b *declcfg.Bundle) error {
	text := declcfg.JSON.Append(document.Buffers.Get(), b)
	defer document.Buffers.Put(text)
	held, err := o.bundles.Add(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("hold bundle %q: %w", o.ref, err)
	}
	source := declcfg.Source{Name: o.ref, FS: oneFile{held, held.Size()}, File: oneFileName, Ordered: true}
	o.sources = append(o.sources, source)
	if o.reused == (identity{}) && !o.Changes.mayFail() && len(text) <= document.DefaultLimit {
		o.ready = source.Bundle(b, text)
	}
	return nil
}

// bundleMemory limits the compressed bundles in memory, more than a hundred; others go to a file.
const bundleMemory = 4 << 20

// newBundleStore returns a store for all bundles of a Catalog, with bounded memory.
func newBundleStore(opts spool.Options) *spool.Store {
	opts.MemoryLimit = cmp.Or(opts.MemoryLimit, bundleMemory)
	return spool.NewStore(opts)
}

// turns limits CPU work, since more references are open than there are CPUs.
type turns chan struct{}

func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) give() { <-t }
