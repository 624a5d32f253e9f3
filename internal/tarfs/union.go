package tarfs

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/spool"
)

// layersAtOnce is the maximum number of layers read at the same time.
const layersAtOnce = 4

// A Layer is a stream of an archive, which may be compressed.
type Layer struct {
	// Name identifies the layer in errors, for example by its digest.
	Name string
	// Size is the size of the stream in bytes, or an estimate. The largest layers are read first.
	Size int64
	// Open opens the stream. It is read to its end.
	Open func(context.Context) (io.ReadCloser, error)
	// Names are the names of all entries of the layer, which are files and directories; nil if they are not known. A
	// layer whose names are neither in nor above the requested files is not read.
	Names []string
}

// concerns reports whether the layer may have an entry at, above or below one of the paths.
func (l Layer) concerns(paths []string) bool {
	return l.Names == nil || slices.ContainsFunc(l.Names, func(name string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return isBelow(p, name) || isBelow(name, p) })
	})
}

// Union returns the directory dir of the file system that layers, the lowest first, have in a container. "/" is all of
// it. If names in dir are given, it buffers only these, each with everything below it; they may be missing. It reads
// each layer once, to its end. Layers whose Names show that they have none of the requested files are skipped, unless a
// link may lead to them: then all layers are read. If links lead out of the requested files, the layers with the
// targets are read again.
//
// Symbolic links are followed as in a container: they may lead out of dir, but not out of the root. Devices and pipes
// are ignored below /dev; elsewhere in the requested files they are errors. A layer that does not decompress to an
// archive is an error; an error of the stream itself, such as a wrong digest, takes precedence. Errors name the layer.
//
// A directory that does not exist is an error that wraps fs.ErrNotExist.
func Union(ctx context.Context, layers []Layer, dir string, names []string, opts Options) (*FS, error) {
	root, err := CleanName(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %q: %w", dir, err)
	}
	want := []string{root}
	if len(names) > 0 {
		want = nil
	}
	for _, name := range names {
		want = append(want, path.Join(root, path.Clean("/"+name)))
	}
	open := func(layers []Layer) (*FS, error) {
		lanes := min(layersAtOnce, runtime.GOMAXPROCS(0))
		u := &union{tree: newTree(&budget{limits: opts.Limits}, want...), store: spool.NewStore(lanes, opts.Spool)}
		u.union = true
		for _, l := range layers {
			u.layers = append(u.layers, &layer{Layer: l})
		}
		fsys, err := u.open(ctx, root, dir)
		if err != nil {
			return nil, errors.Join(err, u.store.Close())
		}
		return fsys, nil
	}
	some := slices.DeleteFunc(slices.Clone(layers), func(l Layer) bool { return !l.concerns(want) })
	fsys, err := open(some)
	switch {
	case len(some) == len(layers) || err == nil && !fsys.tree.followed || err != nil && !errors.Is(err, fs.ErrNotExist):
		return fsys, err
	case err == nil:
		if err := fsys.Close(); err != nil {
			return nil, err
		}
	}
	return open(layers) // a link may lead to any of them
}

// A union is a tree whose layers are being read.
type union struct {
	*tree
	layers []*layer
	store  *spool.Store
}

// open reads the layers. The parameter given is the user's name of the directory.
func (u *union) open(ctx context.Context, dir, given string) (*FS, error) {
	if err := u.read(ctx, u.layers); err != nil {
		return nil, err
	}
	for _, l := range u.layers {
		if err := u.apply(ctx, l); err != nil {
			return nil, layerError(l, err)
		}
	}
	u.followed = false // links in the names of entries do not lead to layers that are not read
	if err := u.reach(u.want); err != nil {
		return nil, err
	}
	var again []*layer
	for _, l := range u.layers {
		if l.missing > 0 {
			again = append(again, l)
		}
	}
	if err := u.read(ctx, again); err != nil {
		return nil, err
	}
	if err := u.store.Finish(); err != nil {
		return nil, err
	}
	for _, l := range u.layers {
		l.entries = nil
	}
	n, err := u.walk(u.root, dir, follow)
	if err == nil && !n.mode.IsDir() {
		err = errNotDir
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: given, Err: err}
	}
	n.reached = true // even if it has none of the names
	return &FS{tree: u.tree, dir: n, given: dir, closer: u.store}, nil
}

func layerError(l *layer, err error) error {
	if err == nil || l == nil || l.Name == "" {
		return err
	}
	return fmt.Errorf("layer %s: %w", l.Name, err)
}

// read buffers the wanted files of the layers.
func (u *union) read(ctx context.Context, layers []*layer) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(layersAtOnce)
	largest := func(a, b *layer) int { return cmp.Compare(b.Size, a.Size) }
	for _, l := range slices.SortedStableFunc(slices.Values(layers), largest) {
		group.Go(func() error {
			return parallel.Catch(func() error { return layerError(l, u.readLayer(ctx, l)) })
		})
	}
	return group.Wait()
}

func (u *union) readLayer(ctx context.Context, l *layer) error {
	stream, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	packed := bufio.NewReaderSize(stream, 64<<10)
	err = u.readArchive(ctx, packed, l)
	if ctx.Err() != nil || errors.Is(err, ErrLimit) {
		return err
	}
	// The digest also covers the bytes after the end of the archive. An error of the stream explains a failure best.
	_, failed := io.Copy(io.Discard, u.budget.reader(ctx, packed))
	if err != nil && (failed == nil || errors.Is(failed, ErrLimit)) {
		return err
	}
	if failed == nil && l.missing > 0 {
		return errors.New("it changed since it was first read")
	}
	return failed
}

func (u *union) readArchive(ctx context.Context, packed *bufio.Reader, l *layer) error {
	plain, err := decompress(packed, layerWindow)
	if err != nil {
		return err
	}
	defer plain.Close()
	r := tar.NewReader(u.budget.reader(ctx, plain))
	return u.readEntries(r, l, func(hdr *tar.Header, n *node) error {
		if n == nil || n.data == nil || !n.data.want || n.data.ReaderAt != nil {
			return nil
		}
		l.missing--
		return u.bufferFile(r, hdr, n)
	})
}

// bufferFile buffers the data of a file.
func (u *union) bufferFile(r io.Reader, hdr *tar.Header, n *node) error {
	if isSparse(hdr) { // its holes are not part of the decompressed bytes
		if err := u.budget.unpack(hdr.Size); err != nil {
			return err
		}
	}
	section, err := u.store.Add(r)
	if err == nil && section.Size() != n.size {
		err = io.ErrUnexpectedEOF
	}
	n.data.ReaderAt = section
	return err
}
