package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
)

const (
	// layersAtOnce is how many layers of an image are fetched and read at once.
	layersAtOnce = 4
	// maxPasses is how often the layers are read to find what links lead to, which only reading them tells.
	maxPasses = 10
	// maxWanted bounds the links that lead out of the directory, or into it.
	maxWanted = 1000
)

// Files returns the directory dir of the image as a file system, "/" being all of the image. Where names of it are
// given, only those are held, each with what is below it, and the others may be missing. The layers are fetched and
// read to their end, usually once; nothing is unpacked to disk.
//
// Symbolic links are followed as in a container: they may lead out of dir, but not out of the image. Devices and pipes
// are left out below /dev, and errors elsewhere in what is asked for. The result implements fs.ReadDirFS, fs.StatFS and
// fs.ReadLinkFS, its regular files io.ReaderAt and io.Seeker; its methods may be called at once, until the Image is
// closed.
//
// An image without the directory is an error that wraps fs.ErrNotExist. Errors name the image and the layer.
func (i *Image) Files(ctx context.Context, dir string, names ...string) (fs.FS, error) {
	fsys, err := i.files(ctx, dir, names)
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", i.Ref, err)
	}
	return fsys, nil
}

func (i *Image) files(ctx context.Context, dir string, names []string) (*imageFS, error) {
	root, err := cleanName(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %q: %w", dir, err)
	}
	asked := []string{root}
	if len(names) > 0 {
		asked = nil
	}
	for _, name := range names {
		asked = append(asked, path.Join(root, path.Clean("/"+name)))
	}
	want := newWanted(asked...)
	for range maxPasses {
		t, data, err := i.readTree(ctx, want)
		if err == nil && t.complete(asked) {
			i.closeLater(data)
			return t.open(root, dir)
		}
		if err = closing(err, data); err != nil {
			return nil, err
		}
		if len(want.roots)+len(want.aliases) > maxWanted {
			return nil, limitError("more than %d links lead into %s or out of it", maxWanted, dir)
		}
	}
	return nil, limitError("links out of %s lead on more than %d times", dir, maxPasses)
}

// readTree reads all layers and puts them over each other. What the files are sections of is to be closed even with an
// error.
func (i *Image) readTree(ctx context.Context, want *wanted) (*tree, *heldPool, error) {
	b := &budget{limits: i.limits}
	data := &heldPool{opts: i.spool}
	layers := make([]*layer, len(i.layers))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(layersAtOnce)
	for n, desc := range i.layers {
		group.Go(func() error {
			content := data.take()
			defer data.give(content)
			l, err := i.readLayer(groupCtx, desc, want, b, content)
			layers[n] = l
			return layerError(desc, err)
		})
	}
	t := &tree{root: newDir(), want: want, budget: b}
	err := group.Wait()
	for n, l := range layers {
		if err == nil {
			err = layerError(i.layers[n], t.apply(ctx, l, i.layers[n].Digest))
		}
	}
	if err == nil {
		err = data.finish()
	}
	return t, data, err
}

func layerError(desc v1.Descriptor, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("layer %s: %w", desc.Digest, err)
}

func (i *Image) readLayer(ctx context.Context, desc v1.Descriptor, want *wanted, b *budget, content *held) (*layer,
	error) {
	blob, err := i.source.blob(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	l, err := readLayer(ctx, blob, want, b, content)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errDigest) && !errors.Is(err, ErrLimit) {
		// Content that is not what it should be explains best why it cannot be read.
		if _, bad := io.Copy(io.Discard, b.reader(contextReader{ctx, blob})); errors.Is(bad, errDigest) {
			return nil, bad
		}
	}
	return l, err
}

// complete reports whether the tree has all that was asked for and all that links there lead to, and whether it was
// known which links lead there when the layers were read. Where it has not, that is wanted from now on.
func (t *tree) complete(asked []string) bool {
	reach := func(name string) {
		w := walk{tree: t, visit: t.miss}
		_, _, _ = w.to(name, true) // links may lead nowhere
	}
	for _, name := range asked {
		reach(name)
	}
	done := true
	t.eachLink(t.root, ".", func(name string) {
		switch {
		case t.want.within(name):
			reach(name)
		case t.isAlias(name) && t.want.addAlias(name):
			done = false
		}
	})
	for _, name := range t.missed {
		if t.want.add(name) {
			done = false
		}
	}
	t.want.links = t
	return done
}

// eachLink calls fn with the path of every symbolic link below n.
func (t *tree) eachLink(n *node, name string, fn func(name string)) {
	for elem, child := range n.children {
		switch below := path.Join(name, elem); child.mode.Type() {
		case fs.ModeSymlink:
			fn(below)
		case fs.ModeDir:
			t.eachLink(child, below, fn)
		}
	}
}

// isAlias reports whether the link called name leads to what is wanted, or above it, so that a layer may have put files
// there by this name.
func (t *tree) isAlias(name string) bool {
	_, actual, err := t.follow(name)
	if err != nil && err != fs.ErrNotExist { // a layer may make what is missing
		return false
	}
	return t.want.within(actual) || t.want.above(actual)
}

// open returns the directory of the tree as a file system. given is what the user calls it.
func (t *tree) open(dir, given string) (*imageFS, error) {
	n, actual, err := t.follow(dir)
	if err == nil && !n.mode.IsDir() {
		err = errNotDir
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: given, Err: err}
	}
	return &imageFS{tree: t, dir: actual, names: []string{actual, dir}}, nil
}

// closers are closed together.
type closers []io.Closer

// Close closes all of them.
func (c closers) Close() error {
	var errs []error
	for _, closer := range c {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

// closing closes what an error makes useless.
func closing(err error, c io.Closer) error {
	if failed := c.Close(); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}
