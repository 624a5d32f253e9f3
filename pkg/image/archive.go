package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// dockerFile is the image list in an archive of docker save.
const dockerFile = "manifest.json"

// IsArchive reports whether fsys, the files of an archive, is an OCI or docker image archive that OpenArchive can
// open, not an archived catalog: it has an oci-layout file, or a manifest.json that lists images.
func IsArchive(fsys fs.FS) bool {
	if _, err := fs.Stat(fsys, layoutFile); err == nil {
		return true
	}
	images, err := dockerImages(fsys, Limits{})
	return err == nil && len(images) > 0 && images[0].Config != "" && images[0].Layers != nil
}

// A dockerImage is an entry of manifest.json.
type dockerImage struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

func dockerImages(fsys fs.FS, limits Limits) ([]dockerImage, error) {
	raw, err := readSmall(fsys, dockerFile, limits)
	if err != nil {
		return nil, err
	}
	var images []dockerImage
	if err := json.Unmarshal(raw, &images); err != nil {
		return nil, fmt.Errorf("%s is broken: %w", dockerFile, err)
	}
	return images, nil
}

// OpenArchive opens an image in fsys, an opened image archive or OCI layout. name is the tag or the digest of the
// image; "" selects the only image. ref is the reference used in errors. The caller closes fsys after the image. ctx
// applies to reading the manifest only.
func (o *Opener) OpenArchive(ctx context.Context, ref string, fsys fs.FS, name string) (*Image, error) {
	img, err := o.openArchive(ctx, ref, fsys, name)
	return img, openError(ref, err)
}

func (o *Opener) openArchive(ctx context.Context, ref string, fsys fs.FS, name string) (*Image, error) {
	// Recent versions of Docker write both; the OCI layout has the digests.
	if _, err := fs.Stat(fsys, layoutFile); err == nil {
		return o.openLayout(ctx, ref, fsys, name)
	}
	if _, err := fs.Stat(fsys, dockerFile); err != nil {
		return nil, fmt.Errorf("not an image archive: it has neither %s nor %s", layoutFile, dockerFile)
	}
	return o.openDocker(ref, fsys, name)
}

// openArchiveFile opens an image in an archive file.
func (o *Opener) openArchiveFile(ctx context.Context, ref, file, name string) (*Image, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, closing(err, f)
	}
	fsys, err := tarfs.Open(ctx, f, info.Size(), tarfs.Options{Limits: o.opts.Limits.Archive(), Spool: o.spool()})
	if err != nil {
		return nil, closing(err, f)
	}
	img, err := o.openArchive(ctx, ref, fsys, name)
	if err != nil {
		return nil, closing(err, closers{fsys, f})
	}
	img.closeLater(f)
	img.closeLater(fsys)
	return img, nil
}

// openDocker opens an image in an archive written by docker save.
func (o *Opener) openDocker(ref string, fsys fs.FS, name string) (*Image, error) {
	all, err := dockerImages(fsys, o.opts.Limits)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(all, name, dockerImage.names)
	if err != nil {
		return nil, err
	}
	raw, err := readSmall(fsys, path.Clean(chosen.Config), o.opts.Limits)
	if err != nil {
		return nil, err
	}
	// Docker and podman name a config after its digest.
	if id, err := v1.NewHash("sha256:" + strings.TrimSuffix(path.Base(chosen.Config), ".json")); err == nil {
		if err := checkDigest(raw, id); err != nil {
			return nil, err
		}
	}
	config, err := parseConfig(raw)
	if err != nil {
		return nil, err
	}
	if have, want := len(chosen.Layers), len(config.RootFS.DiffIDs); have != want {
		return nil, fmt.Errorf("%s lists %d layers, its config %d", dockerFile, have, want)
	}
	if limit := o.opts.Limits.layers(); len(chosen.Layers) > limit {
		return nil, limitError("it has %d layers; at most %d are allowed", len(chosen.Layers), limit)
	}
	source := &dockerArchive{fsys: fsys, names: map[v1.Hash]string{}}
	img := o.newImage(ref, config, source)
	for n, id := range config.RootFS.DiffIDs {
		source.names[id] = path.Clean(chosen.Layers[n])
		img.layers = append(img.layers, v1.Descriptor{Digest: id, Size: -1})
	}
	return img, nil
}

// names returns the display name of the image, followed by its tags and full references.
func (d dockerImage) names() []string {
	names := []string{cmp.Or(strings.Join(d.RepoTags, ", "), "one without a tag")}
	for _, ref := range d.RepoTags {
		_, tag := reference.CutTag(ref)
		names = append(names, ref, tag)
	}
	return names
}

// A dockerArchive is the source of an image in an archive written by docker save. It has only the digests of the
// uncompressed layers.
type dockerArchive struct {
	fsys  fs.FS
	names map[v1.Hash]string // of the layer files, by digest
}

func (d *dockerArchive) document(context.Context, v1.Descriptor) ([]byte, error) {
	return nil, errors.New("a docker archive has no manifests")
}

func (d *dockerArchive) blob(_ context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	f, _, err := regular.Open(d.fsys, d.names[desc.Digest])
	if err != nil {
		return nil, err
	}
	plain, err := tarfs.Decompress(f)
	if err != nil {
		return nil, closing(err, f)
	}
	return VerifiedBlob(readCloser{plain, closers{plain, f}}, desc), nil
}
