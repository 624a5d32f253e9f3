package tarfs

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/spool"
)

// layersAtOnce is how many layers are read at once.
const layersAtOnce = 4

// A Layer is an archive, which may be compressed, as a stream.
type Layer struct {
	// Name is what errors call it, such as its digest.
	Name string
	// Open opens the stream, which is read to its end.
	Open func(context.Context) (io.ReadCloser, error)
}

// Union returns the directory dir of what layers, the lowest first, make in a container. "/" is all of it. Where names
// in dir are given, only those are held, each with what is below it, and the others may be missing. The layers are read
// to their end, once; only where links lead out of what was asked for, those with the files that they lead to are read
// again.
//
// Symbolic links are followed as in a container: they may lead out of dir, but not out of the root. Devices and pipes
// are ignored below /dev, and errors elsewhere in what is asked for. A layer that decompresses to anything but an
// archive is an error, unless the stream itself has one, such as a wrong digest. Errors name the layer.
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
	u := &union{tree: newTree(&budget{limits: opts.Limits}, want...), store: spool.NewStore(opts.Spool)}
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

// A union is a tree while its layers are read.
type union struct {
	*tree
	layers []*layer
	store  *spool.Store
}

// open reads the layers. given is what the user calls the directory.
func (u *union) open(ctx context.Context, dir, given string) (*FS, error) {
	if err := u.read(ctx, u.layers); err != nil {
		return nil, err
	}
	for _, l := range u.layers {
		if err := u.apply(ctx, l); err != nil {
			return nil, layerError(l, err)
		}
	}
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
	n.reached = true // even if nothing in it was found
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
	for _, l := range layers {
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
	// The digest covers what follows the end of the archive, too. An error of the stream explains a failure best.
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
		return u.hold(r, hdr, n)
	})
}

// hold copies the data of a file.
func (u *union) hold(r io.Reader, hdr *tar.Header, n *node) error {
	if isSparse(hdr) { // its holes are not in what the archive decompresses to
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
