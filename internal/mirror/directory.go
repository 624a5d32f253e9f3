package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A Directory is an OCI layout with images to carry to a mirror, and their [Record]. Images share their blobs.
// See https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
type Directory struct {
	name   string
	root   *os.Root // nil if the directory does not exist yet
	since  *Record  // record of an earlier directory, whose content is not written again; may be nil
	create sync.Once

	elsewhere map[string]bool // digests of content that is in an earlier directory; set by FromDirectory

	failed error // the error of create
}

// Files of a Directory.
const (
	RecordFile = "opm-mirror.json"
	layoutFile = "oci-layout"
	indexFile  = "index.json"
)

// maxManifest is the maximum size of a manifest in a directory, in bytes.
const maxManifest = 4 << 20

// ToDirectory opens a directory for writing. The directory must be empty, or written by an earlier run, which is
// continued, or must not exist: then the first write creates it. Content in since, which may be nil, is not written.
func ToDirectory(dir string, since *Record) (*Directory, error) {
	d, err := toDirectory(dir, since)
	if err != nil {
		return nil, fmt.Errorf("mirror to directory %s: %w", dir, err)
	}
	return d, nil
}

func toDirectory(dir string, since *Record) (*Directory, error) {
	d := &Directory{name: dir, since: since}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	_, notLayout := os.Stat(filepath.Join(dir, layoutFile))
	for _, e := range entries {
		if notLayout != nil && !atomicfile.IsTemp(e.Name()) {
			return nil, fmt.Errorf("it has %q, and no %s: want an empty directory or one of an earlier run", e.Name(),
				layoutFile)
		}
	}
	d.root, err = os.OpenRoot(dir)
	return d, err
}

// prepare creates the directory if it does not exist, and makes it an OCI layout.
func (d *Directory) prepare() error {
	d.create.Do(func() {
		if d.failed = os.MkdirAll(d.name, 0o777); d.failed != nil {
			return
		}
		if d.root == nil {
			d.root, d.failed = os.OpenRoot(d.name)
		}
		if d.failed == nil {
			d.failed = d.writeFile(layoutFile, []byte(`{"imageLayoutVersion":"1.0.0"}`))
		}
	})
	return d.failed
}

// FromDirectory opens a directory that an earlier run wrote, and returns its record. An image fails if one of its files
// is missing or has the wrong size; it is an error if all images fail. Digests are verified when blobs are read.
func FromDirectory(dir string) (*Directory, *Record, error) {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("mirror from directory: %w", err)
	}
	d := &Directory{name: dir, root: root}
	record, err := readRecord(root.FS(), RecordFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("it has no %s: the run of opm mirror --to-dir that writes it did not end, or it is not a "+
			"directory of opm mirror", RecordFile)
	}
	if err == nil {
		err = d.checkFiles(record)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("mirror from directory %s: %w", dir, err), d.Close())
	}
	for _, img := range record.Images {
		img.dir = d
	}
	return d, record, nil
}

// checkFiles checks that the blobs of each image in a record exist and have their sizes. An image whose blobs do not
// fails. If none is left, checkFiles returns an error about the blobs of all.
func (d *Directory) checkFiles(record *Record) error {
	d.elsewhere = map[string]bool{}
	for _, digest := range record.Since {
		d.elsewhere[digest] = true
	}
	var whole, broken int
	var all []Blob
	for _, img := range record.Images {
		if img.Failure != "" {
			img.Manifests = nil // those of an earlier run, which may not be here
			continue
		}
		if err := d.checkBlobs(img.content()); err != nil {
			broken++
			all = append(all, img.content()...)
			img.fail(err)
			continue
		}
		whole++
	}
	if broken > 0 && whole == 0 {
		return d.checkBlobs(all)
	}
	return nil
}

// checkBlobs checks that blobs exist, unless they are in an earlier directory, and have their sizes.
func (d *Directory) checkBlobs(blobs []Blob) error {
	var missing []string
	var damaged error
	for _, b := range blobs {
		switch n, err := d.fileSize(b.Digest); {
		case err != nil:
			damaged = cmp.Or(damaged, err)
		case n < 0 && !d.elsewhere[b.Digest.String()]:
			missing = append(missing, b.Digest.String())
		case n >= 0 && n != b.Size:
			damaged = cmp.Or(damaged, fmt.Errorf("%s has %s instead of %s: it was cut off or changed; copy the directory again",
				blobPath(b.Digest), plural.Bytes(n), plural.Bytes(b.Size)))
		}
	}
	if slices.Sort(missing); missing != nil {
		missing = slices.Compact(missing)
		return fmt.Errorf("it is incomplete: %s missing: %s; copy it again",
			plural.Words(len(missing), "blob is", "blobs are"), plural.Some(missing))
	}
	return damaged
}

// Close closes the directory.
func (d *Directory) Close() error {
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}

func (d *Directory) String() string { return d.name }

func blobPath(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

func (d *Directory) check(context.Context, string) error { return nil }

func (d *Directory) manifest(_ context.Context, _ string, digest v1.Hash) ([]byte, v1.Descriptor, error) {
	if d.root == nil {
		return nil, v1.Descriptor{}, fmt.Errorf("%s: %w in %s", digest, image.ErrNotFound, d.name)
	}
	raw, err := regular.ReadFile(d.root.FS(), blobPath(digest), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w in %s", digest, image.ErrNotFound, d.name)
	}
	if err != nil {
		return nil, v1.Descriptor{}, err
	}
	desc := v1.Descriptor{Digest: digest, Size: int64(len(raw))}
	if _, err = io.ReadAll(image.VerifiedBlob(io.NopCloser(bytes.NewReader(raw)), desc)); err != nil {
		err = fmt.Errorf("%s in %s is damaged: %w", blobPath(digest), d.name, err)
	}
	return raw, desc, err
}

func (d *Directory) has(_ context.Context, repo string, digest v1.Hash) (bool, error) {
	if d.since.hasManifest(repo, digest) {
		return true, nil
	}
	return d.stored(digest)
}

// stored reports whether the directory itself has a blob or a manifest, as opposed to since.
func (d *Directory) stored(digest v1.Hash) (bool, error) {
	n, err := d.fileSize(digest)
	return n >= 0, err
}

// size returns the size of a blob.
func (d *Directory) size(_ context.Context, _ string, digest v1.Hash) (int64, error) {
	return d.fileSize(digest)
}

// fileSize returns the size of a blob or a manifest, or -1 if the directory itself does not have it.
func (d *Directory) fileSize(digest v1.Hash) (int64, error) {
	if d.root == nil {
		return -1, nil
	}
	info, err := d.root.Stat(blobPath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	return info.Size(), nil
}

// tagged reports whether the directory has the manifest: tags are in the index, which Finish writes.
func (d *Directory) tagged(ctx context.Context, repo, _, digest string) (bool, error) {
	h, err := v1.NewHash(digest)
	if err != nil {
		return false, err
	}
	return d.has(ctx, repo, h)
}

func (d *Directory) linked(context.Context, string, *Node) (bool, error) { return true, nil }

func (d *Directory) upload(ctx context.Context, _ string, b Blob, _ string, open image.BlobOpener) error {
	switch n, err := d.fileSize(b.Digest); {
	case err != nil:
		return err
	case n >= 0 && n != b.Size:
		return &sourceError{fmt.Errorf("the directory has %d bytes of it; its descriptor says %d", n, b.Size)}
	case n >= 0 || d.since.has(b.Digest):
		return nil
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	return d.write(blobPath(b.Digest), func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

func (d *Directory) blob(_ string, b Blob) image.BlobOpener {
	return func(context.Context) (io.ReadCloser, error) {
		f, info, err := regular.Open(d.root.FS(), blobPath(b.Digest))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not in %s: it has only what is new since an earlier run, so mirror the directory "+
				"of that run first", b.Digest, d.name)
		}
		if err != nil {
			return nil, err
		}
		if info.Size() != b.Size {
			return nil, errors.Join(fmt.Errorf("%s in %s was cut off", blobPath(b.Digest), d.name), f.Close())
		}
		return image.VerifiedBlob(f, b.descriptor()), nil
	}
}

func (d *Directory) put(_ context.Context, _, id string, n *Node) error {
	if id != n.Digest.String() {
		return nil // tags are in the index
	}
	return d.writeFile(blobPath(n.Digest), n.raw)
}

func (d *Directory) writeFile(name string, text []byte) error {
	return d.write(name, atomicfile.Text(text))
}

// write writes a file atomically. Temporary files are at the top of the directory: to find leftovers, each write reads
// their directory, and the directory of blobs may have many thousand entries.
func (d *Directory) write(name string, fill func(io.Writer) error) error {
	f, unlock, err := atomicfile.Temp(d.name)
	if err != nil {
		return err
	}
	defer unlock()
	if err = atomicfile.CheckReplaceable(d.root, name); err == nil {
		err = fill(f)
	}
	if err == nil {
		err = d.root.MkdirAll(path.Dir(name), 0o777)
	}
	if err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.name, filepath.FromSlash(name)))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is more useful
	}
	return err
}

// Finish writes the index of the layout, and then the record.
func (d *Directory) Finish(record *Record) error {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	add := func(n Node, name string) {
		desc := n.descriptor()
		desc.MediaType, desc.Annotations = n.MediaType, map[string]string{"org.opencontainers.image.ref.name": name}
		index.Manifests = append(index.Manifests, desc)
	}
	for _, img := range record.Images {
		if img.Failure != "" {
			continue
		}
		for _, n := range img.Manifests {
			switch {
			case n.Digest.String() == img.Digest:
				add(n, img.sourceName(img.Tag, img.Digest))
			case len(n.Tags) > 0:
				for _, tag := range n.Tags {
					add(n, img.sourceName(tag, ""))
				}
			case n.Subject != "":
				add(n, img.sourceName("", n.Digest.String()))
			}
		}
	}
	text, err := json.Marshal(index, json.Deterministic(true))
	if err == nil {
		err = d.writeFile(indexFile, text)
	}
	if err == nil {
		text, err = record.encode()
	}
	if err == nil {
		err = d.writeFile(RecordFile, text)
	}
	if err != nil {
		return fmt.Errorf("mirror to directory %s: %w", d.name, err)
	}
	return nil
}

// sourceName returns a reference to the source repository, with the tag if there is one, or else with the digest.
func (i *Image) sourceName(tag, digest string) string {
	repo := i.Repository
	if i.from != nil {
		repo = i.from.Context().Name()
	}
	if tag != "" {
		return repo + ":" + tag
	}
	return repo + "@" + digest
}
