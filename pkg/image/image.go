package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// Labels of images. The index labels are for catalogs, the bundle labels for bundles.
const (
	LabelConfigs  = "operators.operatorframework.io.index.configs.v1"  // the directory of a file-based catalog
	LabelDatabase = "operators.operatorframework.io.index.database.v1" // the file of an SQLite catalog
	LabelPackage  = "operators.operatorframework.io.bundle.package.v1"
)

// An Image is an opened container image, with its manifest and configuration. Methods other than Close may be called
// concurrently.
type Image struct {
	// Ref is the reference given to Open.
	Ref string
	// Digest is the digest of the manifest for the requested platform. It is empty for a docker archive, which has no
	// manifest.
	Digest string
	// RefDigest is the digest that Ref refers to: the digest of the index if there is one, else Digest.
	RefDigest string
	// Pinned is the reference with RefDigest for an image in a registry, and empty for other images.
	Pinned string
	// Platform is the platform in the configuration: os/arch or os/arch/variant.
	Platform string
	// Labels are the labels in the configuration.
	Labels map[string]string
	// Entrypoint and Cmd are the program that a container runs and its arguments.
	Entrypoint, Cmd []string

	layers []v1.Descriptor // lowest first
	config v1.Descriptor   // empty for a docker archive
	source source
	limits Limits
	spool  spool.Options
	hidden *hidden // nil for nothing

	downloaded sync.Map // of io.ReadCloser, by number of the layer, until Files reads them

	mu      sync.Mutex
	closers closers
}

// A source provides the manifests and layers of an image. It verifies the digests of their content.
type source interface {
	// document returns a manifest, an index or a config, or an error if it exceeds the size limit.
	document(ctx context.Context, desc v1.Descriptor) ([]byte, error)
	// blob opens a layer. Reading it ends with an error if its digest is wrong.
	blob(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error)
}

// Size returns the number of bytes of the layers as they are stored, which are usually compressed.
func (i *Image) Size() (n int64) {
	for _, l := range i.layers {
		n += l.Size
	}
	return n
}

// Close releases the resources of the image. Its file systems from Files can no longer be read.
func (i *Image) Close() error {
	i.downloaded.Range(func(_, layer any) bool {
		i.closeLater(layer.(io.ReadCloser)) //nolint:forcetypeassert // Download stores no others
		return true
	})
	i.downloaded.Clear()
	i.mu.Lock()
	defer i.mu.Unlock()
	slices.Reverse(i.closers)
	err := i.closers.Close()
	i.closers = nil
	return err
}

func (i *Image) closeLater(c io.Closer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closers = append(i.closers, c)
}

// A Kind is the kind of content in an image.
type Kind int

// The kinds of images.
const (
	Unknown Kind = iota
	Catalog      // a file-based catalog
	Bundle       // the manifests of an operator
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"unknown", "catalog", "bundle"}[k]
}

// ErrKind is wrapped by errors about images that contain neither a catalog nor a bundle.
var ErrKind = errors.New("neither a file-based catalog nor a bundle")

// Kind returns the kind of the image by its labels, and the directory of a catalog or the package of a bundle. For
// other images the error wraps ErrKind.
func (i *Image) Kind() (Kind, string, error) {
	if dir, ok := i.Labels[LabelConfigs]; ok {
		return Catalog, dir, nil
	}
	if pkg, ok := i.Labels[LabelPackage]; ok {
		return Bundle, pkg, nil
	}
	why := "it has no labels"
	if file, ok := i.Labels[LabelDatabase]; ok {
		why = "it is a catalog in SQLite (label " + LabelDatabase + "=" + printable(file) + "), and this opm is for " +
			"file-based catalogs only; upstream's opm, up to v1.73.0, converts it: opm migrate"
	} else if len(i.Labels) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(i.Labels)) {
			labels = append(labels, printable(key+"="+i.Labels[key]))
		}
		why = "its labels are " + strings.Join(labels, ", ")
	}
	// The error begins with upstream's text.
	return Unknown, "", fmt.Errorf("image %s: image type could not be determined: %w: %s", i.Ref, ErrKind, why)
}

// printable makes untrusted text, such as labels and responses of registries, safe for a terminal: on one line and of
// bounded length.
func printable(text string) string {
	const enough = 300
	if runes := []rune(text); len(runes) > enough {
		text = string(runes[:enough]) + "..."
	}
	return legible.Text(text)
}

// maxDownloaded is the maximum number of layers that Download fetches, because each may be an open file.
const maxDownloaded = 4

// Download fetches the layers, or the first few of many, so that the next call of Files need not wait for a registry.
func (i *Image) Download(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for n, desc := range i.layers[:min(len(i.layers), maxDownloaded)] {
		group.Go(func() error {
			return parallel.Catch(func() error {
				layer, err := i.source.blob(ctx, desc)
				if err != nil {
					return fmt.Errorf("read image %s: layer %s: %w", i.Ref, desc.Digest, err)
				}
				i.downloaded.Store(n, layer)
				return nil
			})
		})
	}
	return group.Wait()
}

// layer opens a layer, unless Download has opened it.
func (i *Image) layer(ctx context.Context, n int) (io.ReadCloser, error) {
	if layer, ok := i.downloaded.LoadAndDelete(n); ok {
		return layer.(io.ReadCloser), nil //nolint:forcetypeassert // Download stores no others
	}
	return i.source.blob(ctx, i.layers[n])
}

// Files returns the directory dir of the image as a file system; "/" is the whole image. If names in dir are given, the
// result contains these with everything below them, and may lack other files. The layers are fetched and read
// completely, usually once. Layers are skipped if their annotation shows that they have none of the requested files,
// such as the layer with the program in an image that opm built. Nothing is unpacked to disk.
//
// Symbolic links are followed as in a container: they may point outside dir, but not outside the image. Devices and
// pipes are ignored below /dev, and are errors elsewhere in the requested files. The result implements fs.ReadDirFS,
// fs.StatFS and fs.ReadLinkFS, and its regular files io.ReaderAt and io.Seeker. Its methods may be called concurrently
// until the Image is closed.
//
// If the directory does not exist, the error wraps fs.ErrNotExist. Errors name the image and the layer.
func (i *Image) Files(ctx context.Context, dir string, names ...string) (fs.FS, error) {
	layers := make([]tarfs.Layer, len(i.layers))
	for n, desc := range i.layers {
		layers[n] = tarfs.Layer{
			Name:  desc.Digest.String(),
			Size:  desc.Size,
			Names: listedNames(desc),
			Open:  func(ctx context.Context) (io.ReadCloser, error) { return i.layer(ctx, n) },
		}
	}
	fsys, err := tarfs.Union(ctx, layers, dir, names, tarfs.Options{Limits: i.limits.Archive(), Spool: i.spool})
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", i.Ref, err)
	}
	i.closeLater(fsys)
	return fsys, nil
}

// annotationNames is the annotation of a layer with its names as a list in JSON. It is set by [Build] for layers of
// [Content.Files], which have neither links nor whiteouts.
const annotationNames = "io.github.opm-toolchain.opm.names"

// listedNames returns the names in a layer according to its annotation; nil if there is no valid one.
func listedNames(layer v1.Descriptor) (names []string) {
	if err := json.Unmarshal([]byte(layer.Annotations[annotationNames]), &names); err != nil {
		return nil
	}
	for i, name := range names {
		var err error
		names[i], err = tarfs.CleanName(name)
		if err != nil || strings.Contains("/"+name, "/"+tarfs.WhiteoutPrefix) {
			return nil
		}
	}
	return names
}

// closers are several closers that are closed together.
type closers []io.Closer

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

// addContext adds a description of the operation to err, unless err is nil.
func addContext(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// A readCloser reads from one value and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}
