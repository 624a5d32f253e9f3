package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// BuildOptions are the options of Build.
type BuildOptions struct {
	// Labels are those of the image, such as LabelPackage.
	Labels map[string]string
	// Contents are what is copied into the image, each into a layer of its own, the lowest first.
	Contents []Content
	// Platform is that of the image: os/arch or os/arch/variant; "" means linux and the architecture of this program.
	Platform string
	// Created is the time of the image and all its files, in whole seconds; zero means the Unix epoch. See
	// https://reproducible-builds.org/specs/source-date-epoch/ for where it should come from.
	Created time.Time
}

// A Content is a directory that Build copies into an image.
type Content struct {
	Source fs.FS
	Dir    string // of Source; "" or "." is all of it
	Target string // what Dir becomes in the image, such as manifests/; "" or "/" is the root
}

// Build makes an image without a base, of the media types of OCI. The same names, contents and options give the same
// digest: files are in lexical order, of mode 0644, in directories of mode 0755, all of user and group 0.
//
// The image is in memory. Symbolic links and what is neither a file nor a directory are errors that name the place; so
// are files with the prefix .wh., which would hide others in an image.
func Build(o BuildOptions) (v1.Image, error) {
	platform, err := parsePlatform(o.Platform)
	if err != nil {
		return nil, fmt.Errorf("build image: %w", err)
	}
	created := buildTime(o.Created)
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(base, &v1.ConfigFile{
		OS:           platform.OS,
		Architecture: platform.Architecture,
		Variant:      platform.Variant,
		Created:      v1.Time{Time: created},
		Config:       v1.Config{Labels: o.Labels},
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("build image: %w", err)
	}
	for _, c := range o.Contents {
		layer, err := c.layer(created)
		if err != nil {
			return nil, fmt.Errorf("build image: %w", err)
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
			Created:   v1.Time{Time: created},
			CreatedBy: fmt.Sprintf("COPY %s /%s", path.Clean(c.Dir), strings.Trim(c.Target, "/")),
		}})
		if err != nil {
			return nil, fmt.Errorf("build image: %w", err)
		}
	}
	return img, nil
}

// buildTime returns the time as an image has it.
func buildTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t.Truncate(time.Second).UTC()
}

// A builtLayer is a layer in memory.
type builtLayer struct {
	packed         []byte
	digest, diffID v1.Hash // of packed, and of the archive that it is compressed of
}

func (l *builtLayer) Digest() (v1.Hash, error) { return l.digest, nil }
func (l *builtLayer) DiffID() (v1.Hash, error) { return l.diffID, nil }
func (l *builtLayer) Size() (int64, error)     { return int64(len(l.packed)), nil }

func (l *builtLayer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

func (l *builtLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.packed)), nil
}

// layer returns the directory as a layer.
func (c *Content) layer(created time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	plain := sha256.New()
	// An image is built once and fetched often.
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := &layerWriter{tar: tar.NewWriter(io.MultiWriter(zip, plain)), created: created}
	if err := w.copy(c); err != nil {
		return nil, err
	}
	if err := errors.Join(w.tar.Close(), zip.Close()); err != nil {
		return nil, err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(packed.Bytes()))
	if err != nil {
		return nil, err
	}
	diffID := v1.Hash{Algorithm: digest.Algorithm, Hex: fmt.Sprintf("%x", plain.Sum(nil))}
	return partial.CompressedToLayer(&builtLayer{packed.Bytes(), digest, diffID})
}

// A layerWriter writes the archive of a layer.
type layerWriter struct {
	tar     *tar.Writer
	created time.Time
}

// copy writes the directory of a Content, those above it in the image, and all that is in it.
func (w *layerWriter) copy(c *Content) error {
	target, err := tarfs.CleanName(c.Target)
	if err != nil {
		return fmt.Errorf("target %q: %w", c.Target, err)
	}
	root := path.Clean(c.Dir)
	info, err := fs.Lstat(c.Source, root)
	if err != nil {
		return err
	}
	if !info.IsDir() && info.Mode().Type() != fs.ModeSymlink { // add explains links better
		return fmt.Errorf("%s: not a directory", root)
	}
	if err := w.above(target); err != nil {
		return err
	}
	return fs.WalkDir(c.Source, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below := name
		if root != "." {
			below = name[len(root):]
		}
		return w.add(c.Source, name, path.Join(target, below), e.Type())
	})
}

// above writes the directories above a name.
func (w *layerWriter) above(name string) error {
	for i, char := range name {
		if char != '/' {
			continue
		}
		if err := w.directory(name[:i]); err != nil {
			return err
		}
	}
	return nil
}

// add writes the file or directory name of fsys, which ReadDir lists with a mode, under its name in the image.
func (w *layerWriter) add(fsys fs.FS, name, target string, listed fs.FileMode) error {
	info, err := fs.Lstat(fsys, name)
	if err != nil {
		return err
	}
	if strings.Contains("/"+target, "/"+tarfs.WhiteoutPrefix) {
		return fmt.Errorf("%s: in an image, a name that begins with %s hides other files", name, tarfs.WhiteoutPrefix)
	}
	switch {
	case (info.Mode()|listed)&fs.ModeSymlink != 0: // not every file system can tell by Lstat
		return fmt.Errorf("%s: it is a symbolic link; replace it by its target", name)
	case info.IsDir() && target == ".":
		return nil // every image has a root
	case info.IsDir():
		return w.directory(target)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: neither a file nor a directory", name)
	}
	return w.file(fsys, name, target, info.Size())
}

func (w *layerWriter) directory(target string) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: target + "/", Mode: 0o755, ModTime: w.created})
}

func (w *layerWriter) file(fsys fs.FS, name, target string, size int64) error {
	f, _, err := regular.Open(fsys, name)
	if err != nil {
		return err
	}
	defer f.Close()
	hdr := &tar.Header{Typeflag: tar.TypeReg, Name: target, Size: size, Mode: 0o644, ModTime: w.created}
	if err := w.tar.WriteHeader(hdr); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, err := io.Copy(w.tar, f)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != size {
		err = errors.New("it changed while it was read")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
