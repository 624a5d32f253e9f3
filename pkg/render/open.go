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
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Options say how references are opened. The zero value reads no standard input.
type Options struct {
	Jobs  int       // references that are opened at once; 0 means GOMAXPROCS
	Stdin io.Reader // what "-" stands for; nil refuses it

	// Bundles takes references to bundles too, read with these options. Nil refuses them.
	Bundles *bundle.Options

	// Spool says where input is held that cannot be read twice: standard input, pipes and compressed archives.
	Spool spool.Options
}

// Stdin is the reference to standard input.
const Stdin = "-"

// An opened is what one reference holds, or why it could not be opened.
type opened struct {
	sources []declcfg.Source
	closers []func() error
	err     error
}

// open opens ref. What it opened is to be closed also when it fails.
func (o *opened) open(ctx context.Context, ref string, opts Options) error {
	if ref == Stdin && opts.Stdin != nil {
		return o.openStream(ctx, "stdin", opts.Stdin, opts)
	}
	info, err := os.Stat(ref)
	switch {
	case ref == "" || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open catalog %q: no such file or directory", ref)
	case err != nil:
		return fmt.Errorf("open catalog %q: %w", ref, errors.Unwrap(err))
	case info.IsDir() && isBundle(ref):
		return o.openBundle(ref, opts)
	case info.IsDir():
		o.sources = append(o.sources, declcfg.Source{Name: ref, FS: os.DirFS(ref)})
		return nil
	case !info.Mode().IsRegular():
		return o.openPipe(ctx, ref, opts)
	}
	return o.openFile(ref, opts)
}

// openPipe opens what is a file by name only, such as a named pipe.
func (o *opened) openPipe(ctx context.Context, name string, opts Options) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open catalog %q: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	return o.openStream(ctx, name, f, opts)
}

// openStream holds what r yields, which may be a catalog file or an archive.
func (o *opened) openStream(ctx context.Context, name string, r io.Reader, opts Options) error {
	blob, err := hold(ctx, r, opts.Spool)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	o.closers = append(o.closers, blob.Close)
	if isArchive(blob) {
		return o.openArchive(name, blob, blob.Size(), opts)
	}
	o.sources = append(o.sources, declcfg.Source{Name: name, FS: oneFile{blob, blob.Size()}, File: oneFileName})
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
func (o *opened) openFile(name string, opts Options) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open catalog %q: %w", name, errors.Unwrap(err))
	}
	if isArchive(f) {
		o.closers = append(o.closers, f.Close)
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("open catalog %q: %w", name, errors.Unwrap(err))
		}
		return o.openArchive(name, f, info.Size(), opts)
	}
	f.Close()
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	o.sources = append(o.sources, declcfg.Source{Name: name, FS: os.DirFS(dir), File: base})
	return nil
}

func (o *opened) openArchive(name string, r io.ReaderAt, size int64, opts Options) error {
	fsys, err := archive.Open(r, size, opts.Spool)
	if err != nil {
		return fmt.Errorf("open archive %q: %w", name, err)
	}
	o.closers = append(o.closers, fsys.Close)
	o.sources = append(o.sources, declcfg.Source{Name: name, FS: fsys})
	return nil
}

func isArchive(r io.ReaderAt) bool {
	head := make([]byte, 512)
	n, _ := r.ReadAt(head, 0)
	return archive.Is(head[:n])
}
