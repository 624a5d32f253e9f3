package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/archive"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Options say how references are opened. The zero value reads no standard input.
type Options struct {
	Stdin io.Reader // what "-" stands for; nil refuses it

	// Spool says where input is held that cannot be read twice: standard input, pipes and compressed archives.
	Spool spool.Options
}

// Stdin is the reference to standard input.
const Stdin = "-"

// open adds what ref holds to c.
func (c *Catalog) open(ctx context.Context, ref string, opts Options) error {
	if ref == Stdin && opts.Stdin != nil {
		return c.openStream(ctx, "stdin", opts.Stdin, opts)
	}
	info, err := os.Stat(ref)
	switch {
	case ref == "" || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open catalog %q: no such file or directory", ref)
	case err != nil:
		return fmt.Errorf("open catalog %q: %w", ref, errors.Unwrap(err))
	case info.IsDir():
		c.Sources = append(c.Sources, declcfg.Source{Name: ref, FS: os.DirFS(ref)})
		return nil
	case !info.Mode().IsRegular():
		return c.openPipe(ctx, ref, opts)
	}
	return c.openFile(ref, opts)
}

// openPipe opens what is a file by name only, such as a named pipe.
func (c *Catalog) openPipe(ctx context.Context, name string, opts Options) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open catalog %q: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	return c.openStream(ctx, name, f, opts)
}

// openStream holds what r yields, which may be a catalog file or an archive.
func (c *Catalog) openStream(ctx context.Context, name string, r io.Reader, opts Options) error {
	blob, err := hold(ctx, r, opts.Spool)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	c.closers = append(c.closers, blob.Close)
	if isArchive(blob) {
		return c.openArchive(name, blob, blob.Size(), opts)
	}
	c.Sources = append(c.Sources, declcfg.Source{Name: name, FS: oneFile{blob, blob.Size()}, File: oneFileName})
	return nil
}

// hold reads r to its end. When ctx is done it does not wait for more, though nothing can end a Read that does: the
// goroutine stays behind until it returns.
func hold(ctx context.Context, r io.Reader, opts spool.Options) (*spool.Blob, error) {
	type result struct {
		blob *spool.Blob
		err  error
	}
	done := make(chan result, 1)
	go func() {
		blob, err := spool.Read(reader{ctx, r}, opts)
		done <- result{blob, err}
	}()
	select {
	case read := <-done:
		return read.blob, read.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A reader stops reading when its context is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// openFile tells an archive from a catalog file by what it holds.
func (c *Catalog) openFile(name string, opts Options) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open catalog %q: %w", name, errors.Unwrap(err))
	}
	if isArchive(f) {
		c.closers = append(c.closers, f.Close)
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("open catalog %q: %w", name, errors.Unwrap(err))
		}
		return c.openArchive(name, f, info.Size(), opts)
	}
	f.Close()
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	c.Sources = append(c.Sources, declcfg.Source{Name: name, FS: os.DirFS(dir), File: base})
	return nil
}

func (c *Catalog) openArchive(name string, r io.ReaderAt, size int64, opts Options) error {
	fsys, err := archive.Open(r, size, opts.Spool)
	if err != nil {
		return fmt.Errorf("open archive %q: %w", name, err)
	}
	c.closers = append(c.closers, fsys.Close)
	c.Sources = append(c.Sources, declcfg.Source{Name: name, FS: fsys})
	return nil
}

func isArchive(r io.ReaderAt) bool {
	head := make([]byte, 512)
	n, _ := r.ReadAt(head, 0)
	return archive.Is(head[:n])
}
