package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opm-toolchain/opm/internal/tarfs"
)

// Files returns the directory dir of the image as a file system; "/" is the whole image. If names in dir are given,
// the result contains these with everything below them, and may lack other files. The layers are fetched and read
// completely, usually once; nothing is unpacked to disk.
//
// Symbolic links are followed as in a container: they may point outside dir, but not outside the image. Devices and
// pipes are ignored below /dev, and are errors elsewhere in the requested files. The result implements fs.ReadDirFS,
// fs.StatFS and fs.ReadLinkFS, and its regular files io.ReaderAt and io.Seeker. Its methods may be called
// concurrently until the Image is closed.
//
// If the directory does not exist, the error wraps fs.ErrNotExist. Errors name the image and the layer.
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

// closers are several closers that are closed together.
type closers []io.Closer

// Close closes all of them and joins their errors.
func (c closers) Close() error {
	var errs []error
	for _, closer := range c {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

// closing closes c after an error, and returns that error, joined with an error of Close if there is one.
func closing(err error, c io.Closer) error {
	if failed := c.Close(); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}
