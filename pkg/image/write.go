package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// An Artifact is an image to push or write: a [v1.Image], or a [v1.ImageIndex] of such images.
type Artifact interface {
	remote.Taggable
	partial.Describable
}

// WriteArchive writes img as an OCI archive, a tar of an OCI layout with this tag, which may be "". The same image
// gives the same bytes. On failure, a part may have been written.
func WriteArchive(w io.Writer, img Artifact, tag string) (err error) {
	defer func() { err = addContext("write archive", err) }()
	files, err := layoutFiles(img, tag, newLayoutIndex())
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, f := range files {
		hdr := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: f.size, Mode: 0o644, ModTime: buildTime(time.Time{}),
		}
		if err := out.WriteHeader(hdr); err != nil {
			return err
		}
		if err := f.copyTo(out); err != nil {
			return err
		}
	}
	return out.Close()
}

// layoutVersion is the content of the file oci-layout.
const layoutVersion = `{"imageLayoutVersion":"1.0.0"}`

// A layoutEntry is a file of a layout.
type layoutEntry struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

func (e *layoutEntry) copyTo(w io.Writer) error {
	r, err := e.open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

func bytesEntry(name string, data []byte) layoutEntry {
	return layoutEntry{name, int64(len(data)), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// layoutFiles returns the files to write for a layout with img added to index: oci-layout, the index, and the blobs
// of img by digest.
func layoutFiles(img Artifact, tag string, index layoutIndex) ([]layoutEntry, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	blobs, err := blobsOf(img)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(blobs, func(a, b layoutEntry) int { return cmp.Compare(a.name, b.name) })
	blobs = slices.CompactFunc(blobs, func(a, b layoutEntry) bool { return a.name == b.name })

	digest, digestErr := img.Digest()
	size, sizeErr := img.Size()
	mediaType, typeErr := img.MediaType()
	if err := errors.Join(digestErr, sizeErr, typeErr); err != nil {
		return nil, err
	}
	entry := v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size} // Descriptor of partial has more
	if tag != "" {
		entry.Annotations = map[string]string{annotationRef: tag}
	}
	raw, err := index.with(entry)
	if err != nil {
		return nil, err
	}
	return append([]layoutEntry{bytesEntry(layoutFile, []byte(layoutVersion)), bytesEntry(indexFile, raw)}, blobs...), nil
}

// blobsOf returns the manifest, configuration and layers of an image, or an index with the blobs of its images.
func blobsOf(img partial.Describable) ([]layoutEntry, error) {
	digest, digestErr := img.Digest()
	size, sizeErr := img.Size()
	if err := errors.Join(digestErr, sizeErr); err != nil {
		return nil, err
	}
	if layer, ok := img.(v1.Layer); ok {
		return []layoutEntry{{blobPath(digest), size, layer.Compressed}}, nil
	}
	manifest, err := img.(Artifact).RawManifest()
	if err != nil {
		return nil, err
	}
	all := []layoutEntry{bytesEntry(blobPath(digest), manifest)}
	var parts []partial.Describable
	if index, ok := img.(v1.ImageIndex); ok {
		parts, err = partial.Manifests(index)
	} else if image, ok := img.(v1.Image); ok {
		parts, err = layersOf(image)
	}
	for _, part := range parts {
		blobs, failed := blobsOf(part)
		if failed != nil {
			return nil, failed
		}
		all = append(all, blobs...)
	}
	return all, err
}

// layersOf returns the configuration of an image, followed by its layers.
func layersOf(img v1.Image) ([]partial.Describable, error) {
	config, err := partial.ConfigLayer(img)
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	parts := []partial.Describable{config}
	for _, l := range layers {
		parts = append(parts, l)
	}
	return parts, nil
}

// tagForm is the format of a name in an index, see org.opencontainers.image.ref.name in
// https://github.com/opencontainers/image-spec/blob/main/annotations.md.
var tagForm = regexp.MustCompile(`^[A-Za-z0-9]+(?:(?:[-._:@+]|--|/)[A-Za-z0-9]+)*$`)

func checkTag(tag string) error {
	if tag != "" && !tagForm.MatchString(tag) {
		return fmt.Errorf("the tag %.200q has other characters than letters, digits and single -._:@+/ between them",
			tag)
	}
	return nil
}

// A layoutIndex is the index.json of a layout. Unknown members are preserved.
type layoutIndex map[string]jsontext.Value

func newLayoutIndex() layoutIndex {
	return layoutIndex{
		"schemaVersion": jsontext.Value("2"),
		"mediaType":     jsontext.Value(fmt.Sprintf("%q", types.OCIImageIndex)),
		"manifests":     jsontext.Value("[]"),
	}
}

// with returns the index in JSON with an added entry. It replaces entries with the same name or, if entry has no
// name, unnamed entries with the same digest.
func (i layoutIndex) with(entry v1.Descriptor) ([]byte, error) {
	var existing, manifests []jsontext.Value
	if err := json.Unmarshal(i["manifests"], &existing); err != nil {
		return nil, fmt.Errorf("%s is broken: %w", indexFile, err)
	}
	for _, m := range existing {
		var old v1.Descriptor
		if err := json.Unmarshal(m, &old); err != nil {
			return nil, fmt.Errorf("%s is broken: %w", indexFile, err)
		}
		name := entry.Annotations[annotationRef]
		if old.Annotations[annotationRef] != name || name == "" && old.Digest != entry.Digest {
			manifests = append(manifests, m)
		}
	}
	added, err := json.Marshal(entry, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(append(manifests, added))
	if err != nil {
		return nil, err
	}
	i["manifests"] = list
	return json.Marshal(i, json.Deterministic(true))
}

// WriteLayout writes img into the OCI layout dir with this tag, which may be "". It creates dir if it does not exist,
// but not its parent directory. In an existing layout, the image replaces an index entry with the same tag, and no
// blob is removed.
//
// The image appears completely or not at all: a new layout is written next to dir and renamed, and in an existing one
// the index is replaced last. Processes that write to one layout concurrently wait for each other, if the system can
// lock a directory. A directory with other content is an error.
func WriteLayout(img Artifact, dir, tag string) (err error) {
	defer func(named string) { err = addContext("write OCI layout "+named, err) }(dir)
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return addToLayoutDir(img, dir, tag)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		return fmt.Errorf("create a directory next to it: %w", cmp.Or(errors.Unwrap(err), err))
	}
	files, err := layoutFiles(img, tag, newLayoutIndex())
	if err != nil {
		return err
	}
	err = atomicfile.NewDir(dir, func(root *os.Root) error { return writeEntries(root, files) })
	if errors.Is(err, fs.ErrExist) || errors.Is(err, atomicfile.ErrNotEmpty) { // another process has created it
		return addToLayoutDir(img, dir, tag)
	}
	return err
}

// addToLayoutDir adds an image to a directory that is empty or an OCI layout.
func addToLayoutDir(img Artifact, dir, tag string) error {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := atomicfile.LockDir(dir)
	if err != nil {
		return err
	}
	defer unlock()
	index, err := readLayoutIndex(root.FS())
	if err != nil {
		return err
	}
	files, err := layoutFiles(img, tag, index)
	if err != nil {
		return err
	}
	return atomicfile.Merge(root, func(stage *os.Root) error { return writeEntries(stage, files) }, indexFile)
}

func writeEntries(root *os.Root, files []layoutEntry) error {
	for _, file := range files {
		if err := root.MkdirAll(path.Dir(file.name), 0o777); err != nil {
			return err
		}
		f, err := root.Create(file.name)
		if err != nil {
			return err
		}
		if err = file.copyTo(f); err == nil {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// readLayoutIndex returns the index of a layout, or a new one for an empty directory.
func readLayoutIndex(fsys fs.FS) (layoutIndex, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	isTemp := func(e fs.DirEntry) bool { return atomicfile.IsTemp(e.Name()) }
	if len(slices.DeleteFunc(entries, isTemp)) == 0 {
		return newLayoutIndex(), nil
	}
	if _, err := fs.Stat(fsys, layoutFile); err != nil {
		return nil, fmt.Errorf("the directory is neither empty nor an OCI layout: it has no file %s", layoutFile)
	}
	raw, err := readSmall(fsys, indexFile, Limits{})
	if errors.Is(err, fs.ErrNotExist) {
		return newLayoutIndex(), nil
	}
	if err != nil {
		return nil, err
	}
	var index layoutIndex
	if err = json.Unmarshal(raw, &index); err == nil && index["manifests"] == nil {
		err = errors.New("it has no manifests")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is broken: %w", indexFile, err)
	}
	return index, nil
}
