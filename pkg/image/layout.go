package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
)

// Names in an OCI layout, see https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
const (
	layoutFile = "oci-layout"
	indexFile  = "index.json"
)

// Annotations for the name of a manifest in a layout: the tag or the full reference.
const (
	annotationRef  = "org.opencontainers.image.ref.name"
	annotationName = "io.containerd.image.name"
)

// A layout is an OCI layout in a directory or an archive.
type layout struct {
	fsys   fs.FS
	limits Limits
}

// root returns the descriptor in the index for name, a tag or a digest. An empty name selects the only image.
func (l *layout) root(name string) (v1.Descriptor, error) {
	if _, err := fs.Stat(l.fsys, layoutFile); err != nil {
		return v1.Descriptor{}, fmt.Errorf("not an OCI layout: it has no file %s", layoutFile)
	}
	raw, err := readSmall(l.fsys, indexFile, l.limits)
	if err != nil {
		return v1.Descriptor{}, err
	}
	var index manifest
	if err := json.Unmarshal(raw, &index); err != nil {
		return v1.Descriptor{}, fmt.Errorf("%s is broken: %w", indexFile, err)
	}
	if err := index.checkDigests(); err != nil {
		return v1.Descriptor{}, fmt.Errorf("%s: %w", indexFile, err)
	}
	return choose(slices.DeleteFunc(index.Manifests, isAttestation), name, namesInLayout)
}

// choose returns the only image with this name, or the only image if name is empty. names returns the display name of
// an image, followed by all its names.
func choose[T any](all []T, name string, names func(T) []string) (T, error) {
	var none T
	found := slices.DeleteFunc(slices.Clone(all), func(img T) bool {
		return name != "" && !slices.Contains(names(img)[1:], name)
	})
	if len(found) == 1 {
		return found[0], nil
	}
	if len(all) == 0 {
		return none, errors.New("it contains no image")
	}
	var known []string
	for _, img := range all {
		known = append(known, printable(names(img)[0]))
	}
	slices.Sort(known)
	has := "it has " + strings.Join(slices.Compact(known), ", ")
	if len(found) == 0 {
		return none, fmt.Errorf("%w: no image is called %q; %s", ErrNotFound, printable(name), has)
	}
	return none, fmt.Errorf("there are %d images in it: name one by :TAG; %s", len(found), has)
}

// namesInLayout returns the display name of an image, followed by its names in the index: digest, tag and full
// reference.
func namesInLayout(desc v1.Descriptor) []string {
	names := []string{"@" + desc.Digest.String(), desc.Digest.String()}
	for _, key := range []string{annotationName, annotationRef} {
		if ref := desc.Annotations[key]; ref != "" {
			_, tag := reference.CutTag(ref)
			names = append(names, ref, tag)
			names[0] = ":" + ref
		}
	}
	return names
}

func blobPath(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

func (l *layout) document(_ context.Context, desc v1.Descriptor) ([]byte, error) {
	raw, err := readSmall(l.fsys, blobPath(desc.Digest), l.limits)
	if err != nil {
		return nil, err
	}
	if err := checkDigest(raw, desc.Digest); err != nil {
		return nil, err
	}
	return raw, checkSize(desc, int64(len(raw)))
}

// checkSizes checks the sizes of the layers in the layout before any is read. An image built on them would have their
// sizes in its manifest, even if the layers themselves are never read, because the target registry already has them.
func (l *layout) checkSizes(layers []v1.Descriptor) error {
	for _, desc := range layers {
		info, err := fs.Stat(l.fsys, blobPath(desc.Digest))
		if err != nil || !info.Mode().IsRegular() {
			continue // the labels can be read without the layer
		}
		if err := checkSize(desc, info.Size()); err != nil {
			return fmt.Errorf("layer %w", err)
		}
	}
	return nil
}

func (l *layout) blob(_ context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	f, info, err := regular.Open(l.fsys, blobPath(desc.Digest))
	if err != nil {
		return nil, err
	}
	if err := checkSize(desc, info.Size()); err != nil {
		return nil, closing(err, f)
	}
	return VerifiedBlob(f, desc), nil
}

// readSmall reads a manifest, an index or a config.
func readSmall(fsys fs.FS, name string, limits Limits) ([]byte, error) {
	raw, err := regular.ReadFile(fsys, name, limits.manifest())
	if errors.Is(err, regular.ErrTooLarge) {
		return nil, limitError("%s: at most %s are read of a manifest or config", name, plural.Bytes(limits.manifest()))
	}
	return raw, err
}
