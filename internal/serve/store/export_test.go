package store

import (
	"context"
	"io"
	"slices"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Build builds the store of the catalog at path, as a cache directory has it.
func Build(ctx context.Context, path string, key Key, opts BuildOptions, sources ...declcfg.Source) error {
	return atomicfile.Write(path, atomicfile.Options{Replace: true}, func(w io.Writer) error {
		return Write(ctx, w, key, opts, sources...)
	})
}

// Len returns the number of lines.
func (c *Catalog) Len() int { return len(c.lines) }

// Len returns the number of objects.
func (r *Result) Len() int { return len(r.lines) }

// BundleMessage returns the message of a bundle in one part.
func (s *Store) BundleMessage(pkg, channel, name string) ([]byte, error) {
	b, err := s.Bundle(pkg, channel, name)
	if err != nil {
		return nil, err
	}
	parts, err := b.Message(nil)
	return slices.Concat(parts...), err
}
