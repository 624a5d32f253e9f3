package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opm-toolchain/opm/internal/tarfs"
)

// Files returns the directory dir of the image as a file system, "/" being all of the image. Where names of it are
// given, only those are held, each with what is below it, and the others may be missing. The layers are fetched and
// read to their end, usually once; nothing is unpacked to disk.
//
// Symbolic links are followed as in a container: they may lead out of dir, but not out of the image. Devices and pipes
// are ignored below /dev, and errors elsewhere in what is asked for. The result implements fs.ReadDirFS, fs.StatFS and
// fs.ReadLinkFS, its regular files io.ReaderAt and io.Seeker; its methods may be called at once, until the Image is
// closed.
//
// An image without the directory is an error that wraps fs.ErrNotExist. Errors name the image and the layer.
func (i *Image) Files(ctx context.Context, dir string, names ...string) (fs.FS, error) {
	layers := make([]tarfs.Layer, len(i.layers))
	for n, desc := range i.layers {
		layers[n] = tarfs.Layer{
			Name: desc.Digest.String(),
			Open: func(ctx context.Context) (io.ReadCloser, error) { return i.source.blob(ctx, desc) },
		}
	}
	fsys, err := tarfs.Union(ctx, layers, dir, names, tarfs.Options{Limits: i.limits.Archive(), Spool: i.spool})
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", i.Ref, err)
	}
	i.closeLater(fsys)
	return fsys, nil
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
