package render

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// openBundle adds the bundle that fsys holds; image is the reference to the one that it came in, "" for none.
func (o *opened) openBundle(ctx context.Context, fsys fs.FS, image string) error {
	if o.Bundles == nil {
		return fmt.Errorf("open catalog %q: it is a bundle", o.ref)
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

// addBundle adds b, and locks it.
func (o *opened) addBundle(b *declcfg.Bundle) error {
	if err := o.holdBundle(b); err != nil {
		return err
	}
	return o.lockBundle(b)
}

// holdBundle adds b as a catalog of one object, written as opm writes it.
func (o *opened) holdBundle(b *declcfg.Bundle) error {
	file, err := o.bundles.add(declcfg.JSON.Append(nil, b))
	if err != nil {
		return fmt.Errorf("hold bundle %q: %w", o.ref, err)
	}
	o.sources = append(o.sources, declcfg.Source{Name: o.ref, FS: file, File: oneFileName, Ordered: true})
	return nil
}

// bundleMemory is how many bytes of compressed bundles are held in memory, some hundred bundles, before they go to a
// file: what many references take should not depend on how many they are.
const bundleMemory = 8 << 20

// A bundleStore holds all bundles of a Catalog, compressed, so that the memory that they take has a bound.
type bundleStore struct {
	opts spool.Options

	mu   sync.Mutex
	w    *spool.Writer // nil for none
	size int64
	blob *spool.Blob // nil until all are added
}

// add holds one more. It can be read when the store is finished.
func (s *bundleStore) add(text []byte) (oneFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		opts := s.opts
		opts.MemoryLimit = cmp.Or(opts.MemoryLimit, bundleMemory)
		s.w = spool.NewWriter(opts)
	}
	file := oneFile{storedBundle{s, s.size}, int64(len(text))}
	s.size += file.size
	_, err := s.w.Write(text)
	return file, err
}

// finish makes what was added readable.
func (s *bundleStore) finish() (err error) {
	if s.w == nil {
		return nil
	}
	if s.blob, err = s.w.Finish(); err != nil {
		return fmt.Errorf("hold bundles: %w", err)
	}
	s.w = nil // the encoder takes more memory than many bundles
	return nil
}

// close lets go of the bundles, finished or not.
func (s *bundleStore) close() error {
	switch {
	case s.blob != nil:
		return s.blob.Close()
	case s.w != nil:
		s.w.Close()
	}
	return nil
}

// A storedBundle reads what begins at an offset.
type storedBundle struct {
	store *bundleStore
	off   int64
}

func (b storedBundle) ReadAt(p []byte, off int64) (int, error) {
	return b.store.blob.ReadAt(p, b.off+off)
}

// Turns are taken by those who keep a CPU busy, since more references are open at once than there are CPUs.
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
