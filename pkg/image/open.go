package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// Options are the options of an Opener. The zero value is the default.
type Options struct {
	// Platform is os/arch or os/arch/variant; "" means linux and the architecture of this program. It only selects
	// among the images of an index.
	Platform string

	// Insecure allows plain HTTP for registries without TLS. The Transport decides whether certificates are verified.
	Insecure bool
	// Keychain provides the credentials; nil means NewKeychain with default options.
	Keychain authn.Keychain
	// Transport sends requests, with retries and timeouts; nil means NewTransport with default options.
	Transport http.RoundTripper
	// InsecureTransport sends requests to registries that Mirrors mark as insecure, unless Insecure is set; nil means
	// NewTransport without verification of certificates.
	InsecureTransport http.RoundTripper
	// Mirrors are the mirrors of registries; nil means no mirrors.
	Mirrors *Mirrors
	// IgnorePolicy disables the signature policy of the host, which applies to registries only.
	IgnorePolicy bool

	// Cache stores downloads; nil stores them for the lifetime of the Opener.
	Cache *Cache
	// Limits bound the size of an image.
	Limits Limits
	// Spool configures the buffer for the files of images.
	Spool SpoolOptions
	// Log records at level Info which registry answered. Nil discards it.
	Log *slog.Logger
}

// ErrNotFound is wrapped by the error for an image that does not exist in the registry, layout or archive.
var ErrNotFound = errors.New("not found")

// ErrUnavailable is wrapped by the error for an image whose registry cannot be reached, fails, or denies access: the
// image may exist.
var ErrUnavailable = errors.New("registry unavailable")

// An Opener opens images, which share connections, tokens and downloads: no digest is fetched twice. Calls may be
// concurrent.
type Opener struct {
	opts     Options
	platform v1.Platform
	invalid  error // error in the options
	cache    *Cache
	ownCache bool

	secure, insecure func() (registryClient, error)
}

// NewOpener returns an Opener. Errors in the options are returned by Open.
func NewOpener(opts Options) *Opener {
	o := &Opener{opts: opts, cache: opts.Cache}
	o.opts.Log = logger(opts.Log)
	o.platform, o.invalid = parsePlatform(opts.Platform)
	if o.cache == nil {
		o.ownCache = true
		o.cache = OpenCache("", CacheOptions{Spool: opts.Spool, Log: opts.Log})
	}
	if o.opts.Keychain == nil {
		o.opts.Keychain = NewKeychain(AuthOptions{})
	}
	o.secure = o.newClient(opts.Transport, TransportOptions{}, false)
	o.insecure = o.newClient(opts.InsecureTransport, TransportOptions{Insecure: true}, true)
	if opts.Insecure {
		o.insecure = o.newClient(opts.Transport, TransportOptions{Insecure: true}, true)
	}
	return o
}

// Close releases the resources of the Opener. Images that it opened remain open.
func (o *Opener) Close() error {
	if !o.ownCache {
		return nil
	}
	return o.cache.Close()
}

// Open opens one image. To open several, use an Opener; see Opener.Open.
func Open(ctx context.Context, ref string, opts Options) (*Image, error) {
	o := NewOpener(opts)
	img, err := o.Open(ctx, ref)
	if err != nil {
		return nil, closing(err, o)
	}
	img.closeLater(o)
	return img, nil
}

// Open opens the image named by ref and reads its manifest and configuration. ref is
//
//	quay.io/org/image:tag              in a registry; with a host, and a tag or a digest
//	quay.io/org/image@sha256:...
//	oci:DIR, oci:DIR:TAG, oci:DIR@sha256:...          in an OCI layout
//	FILE, FILE:TAG, FILE@sha256:...                   in an OCI or docker archive, optionally compressed
//
// Without a tag or a digest, a layout or an archive must contain exactly one image. From a multi-platform image, Open
// selects the platform in the options. The error includes advice, and wraps ErrNotFound if there is no such image.
func (o *Opener) Open(ctx context.Context, ref string) (img *Image, err error) {
	defer func() { err = openError(ref, err) }()
	if o.invalid != nil {
		return nil, o.invalid
	}
	switch r := reference.Of(ref); r.Kind {
	case reference.Layout:
		if r.Err != nil {
			return nil, r.Err
		}
		return o.openLayout(ctx, ref, os.DirFS(r.Path), r.Name)
	case reference.File, reference.Archive:
		return o.openArchiveFile(ctx, ref, r.Path, r.Name)
	case reference.Directory, reference.LayoutDirectory:
		return nil, errors.New("it is a directory: write oci:DIR for an OCI layout")
	}
	img, err = o.openRemote(ctx, ref)
	if errors.Is(err, errNotFull) {
		err = fmt.Errorf("no such file, and %w", err)
	}
	return img, err
}

// openError adds the image reference to err unless it is nil, with upstream's text for an image in a registry.
func openError(ref string, err error) error {
	what := "open image"
	if kind := reference.Of(ref).Kind; kind == reference.Registry || kind == reference.Missing {
		what = "failed to pull image"
	} else if errors.Is(err, ErrNotFound) { // the name in a layout or archive may have the rest of a list
		err = fmt.Errorf("%w%s", err, reference.ListHint(ref))
	}
	return addContext(what+" "+printable(ref), err)
}

func (o *Opener) openLayout(ctx context.Context, ref string, fsys fs.FS, name string) (*Image, error) {
	l := &layout{fsys: fsys, limits: o.opts.Limits}
	desc, err := l.root(name)
	if err != nil {
		return nil, err
	}
	raw, err := l.document(ctx, desc)
	if err != nil {
		return nil, err
	}
	img, err := o.resolve(ctx, ref, l, raw, desc)
	if err != nil {
		return nil, err
	}
	return img, l.checkSizes(img.layers)
}

// resolve returns the image for the manifest or index that ref refers to.
func (o *Opener) resolve(ctx context.Context, ref string, s source, raw []byte, root v1.Descriptor) (*Image, error) {
	top, err := parseManifest(raw, root.MediaType)
	if err != nil {
		return nil, err
	}
	chooser := chooser{source: s, want: o.platform}
	m, err := chooser.choose(ctx, top, root.Digest)
	if err != nil {
		return nil, err
	}
	if err := m.checkLayers(o.opts.Limits); err != nil {
		return nil, err
	}
	if t := m.Config.MediaType; !t.IsConfig() {
		return nil, fmt.Errorf("not a container image: its config has the media type %q", printable(string(t)))
	}
	rawConfig, err := s.document(ctx, *m.Config)
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", m.Config.Digest, err)
	}
	config, err := parseConfig(rawConfig)
	if err != nil {
		return nil, err
	}
	img := o.newImage(ref, config, s)
	img.Digest, img.RefDigest, img.layers = m.digest.String(), root.Digest.String(), m.Layers
	img.config = *m.Config
	return img, nil
}

func (o *Opener) newImage(ref string, config *configFile, s source) *Image {
	return &Image{
		Ref:      ref,
		Platform: v1.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}.String(),
		Labels:   config.Config.Labels,
		source:   s,
		limits:   o.opts.Limits,
		spool:    o.spool(),

		Entrypoint: config.Config.Entrypoint,
		Cmd:        config.Config.Cmd,
	}
}

// spool returns the options of the buffer for files. Its default directory is the directory of the cache.
func (o *Opener) spool() spool.Options {
	opts := o.opts.Spool
	opts.Dir = cmp.Or(opts.Dir, o.cache.memory.opts.Dir)
	opts.MemoryLimit = cmp.Or(opts.MemoryLimit, memoryBlobMax)
	return opts
}

// ErrLimit is wrapped by errors about images that exceed the Limits.
var ErrLimit = tarfs.ErrLimit

// DefaultManifests is the default of Limits.Manifests: several times the number of images and of their signatures and
// attestations in the largest indexes.
const DefaultManifests = 5000

// Limits bound the size of an untrusted image. Zero means the default. Unpacked and Files apply to archives too.
type Limits struct {
	Manifest int64 // bytes of a manifest, an index or a config; default 4 MB

	// Manifests is the number of manifests and indexes of an image and of everything that refers to it, of 16 KiB each
	// on average; default DefaultManifests.
	Manifests int

	Layers   int   // layers of an image; default 1,000
	Unpacked int64 // uncompressed bytes of all layers, including holes of sparse files; default 8 GB
	Files    int   // files, directories and links in all layers; default 200,000
}

func (l Limits) manifest() int64 { return cmp.Or(l.Manifest, 4<<20) }

// CheckManifests returns an error if an image has too many manifests, or too many bytes of manifests.
func (l Limits) CheckManifests(n int, bytes int64) error {
	most := cmp.Or(l.Manifests, DefaultManifests)
	if n > most {
		return limitError("it has more than %s, with everything that refers to it", plural.Of(most, "manifest"))
	}
	if size := max(l.manifest(), int64(most)*manifestSize); bytes > size {
		return limitError("its manifests have more than %s, with everything that refers to it", plural.Bytes(size))
	}
	return nil
}

// manifestSize is the allowed average size of a manifest in bytes.
const manifestSize = 16 << 10

func (l Limits) layers() int     { return cmp.Or(l.Layers, 1000) }
func (l Limits) unpacked() int64 { return cmp.Or(l.Unpacked, 8<<30) }

// Archive returns the limits for reading layers or an archive.
func (l Limits) Archive() tarfs.Limits {
	return tarfs.Limits{Unpacked: l.unpacked(), Entries: cmp.Or(l.Files, 200_000), Names: 32 << 20}
}

// limitError returns an error that wraps ErrLimit.
func limitError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
}

// SpoolOptions configure the buffer for input that cannot be read twice, such as standard input, and for the content
// of compressed archives. The zero value keeps up to 64 MB in memory and the rest in the directory for temporary
// files.
type SpoolOptions = spool.Options
