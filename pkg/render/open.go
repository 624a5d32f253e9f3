package render

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/internal/tarfs"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Options configure the opening of references. The zero value accepts no standard input, no images and no bundles.
type Options struct {
	// Jobs is the number of references opened in parallel. 0 means 20, or the number of CPUs if that is higher, and 64
	// for images of registries that speak HTTP/2.
	Jobs  int
	Stdin io.Reader // read for "-"; nil makes "-" an error

	// Bundles are the options for reading bundles, except Image, which is set to the image reference. Nil makes bundles
	// an error. Warn is called in the order of the references.
	Bundles *bundle.Options

	// AnyDirectory reads every directory as a catalog, even if it looks like a bundle.
	AnyDirectory bool

	// BundleImages accepts only images of bundles in registries, as templates do.
	BundleImages bool

	// Images is called for the first image. The caller closes the Opener, after the Catalog. Nil makes images an error.
	Images func() (*image.Opener, error)

	// Changes are made to bundles.
	Changes Changes

	// Shard is the part of the references to open. Its last object identifies the part, so that [Catalog.Metas] of all
	// shards together returns the same objects as without shards.
	Shard Shard

	// Lock has the digests by which images in registries are opened; nil opens the current images.
	Lock *Lock
	// Reuse are catalogs from which to take bundles whose locked image no longer exists.
	Reuse []declcfg.Source

	// Skipped is called for references that cannot be opened, in their order, and for objects that cannot be rendered,
	// by position; both are skipped. Ref is the reference, "" for objects. Without Skipped, Open and Metas return these
	// errors.
	Skipped func(ref string, err error)

	// Opened is called with every reference that was opened or failed, and Read with the number of further bytes of
	// catalogs that were read; calls may run concurrently. They may be nil.
	Opened func(ref string)
	Read   func(bytes int64)

	// MaxObject is the maximum size of an object of a catalog in bytes; see [declcfg.Source].
	MaxObject int64
	// Limits apply to archives, and Unpacked also to standard input and pipes. For images, the limits of their Opener
	// apply.
	Limits image.Limits

	// Spool configures the storage of input that cannot be read twice: standard input, pipes and compressed archives.
	Spool image.SpoolOptions
}

// Stdin is the reference to standard input.
const Stdin = reference.Stdin

// An openedRef is an opened reference, or the error of opening it.
type openedRef struct {
	*opener
	ref  string
	turn bool // it has one of the opener's turns

	sources  []declcfg.Source
	parsed   *declcfg.Meta // a bundle that was just parsed and needs no check; nil for other sources
	warnings []*declcfg.Error
	locked   *Locked  // nil unless in a registry
	reused   identity // of a bundle from a catalog to reuse; zero for none
	err      error
}

// open opens the reference. After an error, open files must still be closed.
func (o *openedRef) open(ctx context.Context) error {
	r := reference.Of(o.ref)
	switch {
	case o.BundleImages && r.Kind != reference.Registry:
		return fmt.Errorf("open bundle %q: want an image in a registry", o.ref)
	case r.Kind == reference.StandardInput && o.Stdin != nil:
		return o.openStream(ctx, "stdin", o.Stdin)
	case r.Kind == reference.StandardInput:
		return fmt.Errorf("open %q: standard input is not accepted here", o.ref)
	case r.Kind.IsImage() && o.Images != nil:
		return o.openImage(ctx)
	case r.Kind.IsImage():
		return fmt.Errorf("open %q: no such file or directory, and images are not accepted here%s", o.ref,
			reference.ListHint(o.ref))
	case r.Err != nil:
		return fmt.Errorf("open %q: %w", o.ref, r.Err)
	case r.Kind == reference.File:
		return o.openFile(ctx)
	case r.Kind == reference.Pipe: // a pipe can be read only once
		f, err := regular.OpenNamed(o.ref)
		if err != nil {
			return fmt.Errorf("open %q: %w", o.ref, errors.Unwrap(err))
		}
		defer f.Close()
		return o.openStream(ctx, o.ref, f)
	case !o.AnyDirectory && bundle.Is(os.DirFS(o.ref)):
		return o.openBundle(ctx, os.DirFS(o.ref), "directory")
	case r.Kind == reference.LayoutDirectory:
		return fmt.Errorf("open %q: it is an OCI layout; use %s%s", o.ref, reference.LayoutPrefix, o.ref)
	}
	o.addSource(declcfg.Source{Name: o.ref, FS: os.DirFS(o.ref)})
	return nil
}

// takeTurn waits for a turn, unless the reference has one.
func (o *openedRef) takeTurn(ctx context.Context) (err error) {
	if !o.turn {
		err = o.turns.Acquire(ctx, 1)
		o.turn = err == nil
	}
	return err
}

// endTurn lets another reference take its turn.
func (o *openedRef) endTurn() {
	if o.turn {
		o.turns.Release(1)
	}
	o.turn = false
}

// addSource adds a catalog.
func (o *openedRef) addSource(s declcfg.Source) {
	s.MaxObject, s.Record, s.Read = o.MaxObject, &o.record, o.Read
	o.sources = append(o.sources, s)
}

// openStream adds a catalog file or an archive that can be read only once.
func (o *openedRef) openStream(ctx context.Context, name string, r io.Reader) error {
	blob, err := spoolAll(ctx, r, o.Limits.Archive().Unpacked, o.Spool)
	if errors.Is(err, document.ErrBinary) {
		return &declcfg.Error{Pos: declcfg.Pos{File: name}, Err: err}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	o.onClose(blob.Close)
	if isArchive(blob) {
		return o.openArchive(ctx, name, blob, blob.Size())
	}
	o.addSource(declcfg.Source{Name: name, FS: oneFile{blob, blob.Size()}, File: oneFileName})
	return nil
}

// spoolAll reads r to its end and stores the content. More than limit bytes are an error. It returns when ctx is done,
// but its goroutine runs until a blocked Read returns.
func spoolAll(ctx context.Context, r io.Reader, limit int64, opts spool.Options) (*spool.Blob, error) {
	type result struct {
		blob *spool.Blob
		err  error
	}
	done := make(chan result, 1)
	go func() {
		in := bufio.NewReaderSize(&reader{ctx, r, limit, limit}, 32<<10)
		var blob *spool.Blob
		head, _ := in.Peek(document.BlockSize) // spool.Read returns the error again
		err := document.CheckText(head)        // check early: the input may be endless
		if err == nil || tarfs.Is(head) {
			blob, err = spool.Read(in, opts)
		}
		done <- result{blob, err}
	}()
	select {
	case read := <-done:
		return read.blob, read.err
	case <-ctx.Done():
		go func() {
			if read := <-done; read.blob != nil {
				read.blob.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// A reader is an io.Reader that fails when its context is done, or after a limit.
type reader struct {
	ctx         context.Context
	r           io.Reader
	limit, left int64
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, fmt.Errorf("%w: more than %s", image.ErrLimit, plural.Bytes(r.limit))
	}
	return n, err
}

// openFile opens an archive or a catalog file, depending on the content.
func (o *openedRef) openFile(ctx context.Context) error {
	f, err := os.Open(o.ref)
	if err != nil {
		return fmt.Errorf("open %q: %w", o.ref, errors.Unwrap(err))
	}
	dir, base := filepath.Split(o.ref)
	dir = cmp.Or(dir, ".")
	if isArchive(f) {
		o.onClose(f.Close)
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("open %q: %w", o.ref, errors.Unwrap(err))
		}
		o.record.Add(o.ref, os.DirFS(dir), base, info)
		return o.openArchive(ctx, o.ref, f, info.Size())
	}
	f.Close()
	o.addSource(declcfg.Source{Name: o.ref, FS: os.DirFS(dir), File: base})
	return nil
}

// openArchive opens an archive of images, of a bundle or of a catalog, depending on the content.
func (o *openedRef) openArchive(ctx context.Context, name string, r io.ReaderAt, size int64) error {
	fsys, err := tarfs.Open(ctx, r, size, tarfs.Options{Limits: o.Limits.Archive(), Spool: o.Spool})
	if err != nil {
		return fmt.Errorf("open archive %q: %w", name, err)
	}
	o.onClose(fsys.Close)
	switch {
	case image.IsArchive(fsys) && o.Images == nil:
		return fmt.Errorf("open catalog %q: not a catalog: it is an image archive", o.ref)
	case image.IsArchive(fsys):
		images, err := o.Images()
		if err != nil {
			return err
		}
		img, err := images.OpenArchive(ctx, o.ref, fsys, "")
		if err != nil {
			return err
		}
		return o.readImage(ctx, img)
	case bundle.Is(fsys):
		return o.openBundle(ctx, fsys, "archive")
	}
	o.addSource(declcfg.Source{Name: name, FS: fsys})
	return nil
}

func isArchive(r io.ReaderAt) bool {
	head := make([]byte, tarfs.HeaderSize)
	n, _ := r.ReadAt(head, 0)
	return tarfs.Is(head[:n])
}

// oneFileName is the name of the file in a oneFile.
const oneFileName = "catalog"

// Text returns a source of one catalog file that is in memory.
func Text(name string, text []byte) declcfg.Source {
	return ReaderAt(name, bytes.NewReader(text), int64(len(text)))
}

// ReaderAt returns a source of one catalog file whose content is the first size bytes of r.
func ReaderAt(name string, r io.ReaderAt, size int64) declcfg.Source {
	return declcfg.Source{Name: name, FS: oneFile{r, size}, File: oneFileName}
}

// A oneFile is a file system in which every name is the same file.
type oneFile struct {
	r    io.ReaderAt
	size int64
}

func (f oneFile) Open(name string) (fs.File, error) {
	return openFile{io.NewSectionReader(f.r, 0, f.size), name}, nil
}

// An openFile is an open file of a oneFile, and its info.
type openFile struct {
	*io.SectionReader
	name string
}

func (f openFile) Close() error               { return nil }
func (f openFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f openFile) Name() string               { return f.name }
func (f openFile) Mode() fs.FileMode          { return 0o444 }
func (f openFile) ModTime() time.Time         { return time.Time{} }
func (f openFile) IsDir() bool                { return false }
func (f openFile) Sys() any                   { return nil }

// ReadReferences reads a list of references, one per line, from a file of that name. Empty lines and lines that begin
// with # are ignored. The error joins a [*declcfg.Error] for each line that is neither an existing path nor a complete
// reference to an image; the result has the other lines. These errors have no text of the file: it may be a link to a
// secret.
func ReadReferences(name string, r io.Reader) ([]string, error) {
	text, err := regular.ReadLimited(r)
	if err != nil {
		return nil, fmt.Errorf("read references: %w", err)
	}
	var refs []string
	var errs []error
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case isReference(line):
			refs = append(refs, line)
		default:
			err := errReference
			if strings.Contains(line, ",") {
				err = errReferenceList
			}
			errs = append(errs, &declcfg.Error{Pos: declcfg.Pos{File: name, Line: number}, Err: err})
		}
	}
	return refs, errors.Join(errs...)
}

var (
	errReference = errors.New("neither an existing path nor a complete image reference, such as quay.io/org/image:v1")

	errReferenceList = fmt.Errorf("%w; write one reference per line, without commas", errReference)
)

// isReference reports whether text is an existing path or, by its form, an image in a registry.
func isReference(text string) bool {
	r := reference.Of(text)
	if r.Kind == reference.Missing || r.Kind == reference.Registry {
		_, err := image.ParseReference(text)
		return err == nil
	}
	return r.Err == nil
}
