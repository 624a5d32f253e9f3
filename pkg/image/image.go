package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/spool"
)

// Labels of images. Those of an index are about catalogs, the others about bundles.
const (
	LabelConfigs        = "operators.operatorframework.io.index.configs.v1"  // the directory of a file-based catalog
	LabelDatabase       = "operators.operatorframework.io.index.database.v1" // the file of a catalog in SQLite
	LabelPackage        = "operators.operatorframework.io.bundle.package.v1"
	LabelMediaType      = "operators.operatorframework.io.bundle.mediatype.v1"
	LabelManifests      = "operators.operatorframework.io.bundle.manifests.v1" // a directory
	LabelMetadata       = "operators.operatorframework.io.bundle.metadata.v1"  // a directory
	LabelChannels       = "operators.operatorframework.io.bundle.channels.v1"
	LabelDefaultChannel = "operators.operatorframework.io.bundle.channel.default.v1"
)

// An Image is a container image whose manifest and configuration were read. Calls of methods other than Close may run
// at once.
type Image struct {
	// Ref is the reference as it was given to Open.
	Ref string
	// Digest is that of the manifest, for the platform that was asked for. It is empty for a docker archive, which has
	// no manifest.
	Digest string
	// RefDigest is the digest that Ref names: that of the index if there is one, else Digest.
	RefDigest string
	// Pinned is the reference by RefDigest of an image in a registry, and empty for other images.
	Pinned string
	// Platform is that of the configuration: os/arch or os/arch/variant.
	Platform string
	// Labels are those of the configuration.
	Labels map[string]string

	layers []v1.Descriptor // the lowest first
	config v1.Descriptor   // empty for a docker archive
	source source
	limits Limits
	spool  spool.Options

	mu      sync.Mutex
	closers closers
}

// A source has the manifests and layers of an image. Its content has the digest that was asked for.
type source interface {
	// document returns a manifest, an index or a config. One that is larger than the limit is an error.
	document(ctx context.Context, desc v1.Descriptor) ([]byte, error)
	// blob opens a layer. A wrong digest is an error at the end of its content.
	blob(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error)
}

// Close releases the resources of the image. The file systems from Files can no longer be read.
func (i *Image) Close() error {
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

// A Kind is what an image holds.
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

// ErrKind is in the chain of errors about images that hold neither a catalog nor a bundle.
var ErrKind = errors.New("neither a file-based catalog nor a bundle")

// Kind returns the kind of the image by its labels, and the directory of a catalog or the package of a bundle. For
// anything else the error wraps ErrKind.
func (i *Image) Kind() (Kind, string, error) {
	if dir, ok := i.Labels[LabelConfigs]; ok {
		return Catalog, dir, nil
	}
	if pkg, ok := i.Labels[LabelPackage]; ok {
		return Bundle, pkg, nil
	}
	if file, ok := i.Labels[LabelDatabase]; ok {
		return Unknown, "", i.notKnown("it is a catalog in SQLite (label %s=%s), and "+
			"this opm is for file-based catalogs only; upstream's opm, up to v1.73.0, converts it: opm migrate",
			LabelDatabase, printable(file))
	}
	if len(i.Labels) == 0 {
		return Unknown, "", i.notKnown("it has no labels")
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(i.Labels)) {
		labels = append(labels, printable(key+"="+i.Labels[key]))
	}
	return Unknown, "", i.notKnown("its labels are %s", strings.Join(labels, ", "))
}

// notKnown returns the error for an image of another kind, which begins with the words of upstream.
func (i *Image) notKnown(format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	return fmt.Errorf("image %s: image type could not be determined: %w: %s", i.Ref, ErrKind, why)
}

// printable returns text that others wrote, such as labels and the answers of registries, fit for a terminal: on one
// line and of bounded length.
func printable(text string) string {
	const enough = 300
	if runes := []rune(text); len(runes) > enough {
		text = string(runes[:enough]) + "..."
	}
	return legible.Text(text)
}
