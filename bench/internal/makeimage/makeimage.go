// Package makeimage makes images of bundles and catalogs without opm, and pushes them to a registry:
//
//	img, err := makeimage.Bundle("operators/kiln/1.0.0", "kiln", time.Unix(0, 0))
//	path, err := makeimage.Push(host, "pottery/kiln", img)
package makeimage

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Bundle returns the image that the Dockerfile of a bundle directory builds: a layer for each of its directories, and
// the labels. All files have the modification time changed.
func Bundle(dir, pkg string, changed time.Time) (v1.Image, error) {
	return imageOf(dir, []string{"manifests", "metadata"}, changed, map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":  "metadata/",
		"operators.operatorframework.io.bundle.package.v1":   pkg,
	})
}

// Catalog returns the image of a catalog directory, which is one layer.
func Catalog(dir string) (v1.Image, error) {
	name := filepath.Base(dir)
	return imageOf(filepath.Dir(dir), []string{name}, time.Unix(0, 0), map[string]string{
		"operators.operatorframework.io.index.configs.v1": "/" + name,
	})
}

// Push stores an image at a host and returns its path with the digest.
func Push(host, path string, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", err
	}
	ref, err := name.NewDigest(host + "/" + path + "@" + digest.String())
	if err != nil {
		return "", err
	}
	return path + "@" + digest.String(), remote.Write(ref, img)
}

// imageOf returns an image with a layer for each of the named directories in dir. All files have the modification time
// changed.
func imageOf(dir string, names []string, changed time.Time, labels map[string]string) (v1.Image, error) {
	img, err := mutate.Config(empty.Image, v1.Config{Labels: labels})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		layer, err := layerOf(dir, name, changed)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// layerOf returns a layer with the files of the directory name in dir. All files have the modification time changed.
func layerOf(dir, name string, changed time.Time) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := fs.WalkDir(os.DirFS(dir), name, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Clean(file), Mode: 0o644, Size: int64(len(content)), ModTime: changed}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}, tarball.WithCompressedCaching)
}
