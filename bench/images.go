//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// bundleDirs returns the sorted bundle directories PACKAGE/VERSION in a directory.
func bundleDirs(operators string) ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join(operators, "*", "*"))
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("no bundles in %s", operators)
	}
	return dirs, err
}

// bundleImages returns n images of the bundles, which share no layers. If there are fewer bundles than images, the
// images of one bundle have different file times.
func bundleImages(dirs []string, n int) ([]v1.Image, error) {
	var images []v1.Image
	for i := range n {
		img, err := bundleImage(dirs[i%len(dirs)], i/len(dirs))
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	return images, nil
}

// bundleImage returns the image that the Dockerfile of a bundle builds: a layer for each of its directories, and the
// labels.
func bundleImage(dir string, round int) (v1.Image, error) {
	return imageOf(dir, []string{"manifests", "metadata"}, time.Unix(int64(round), 0), map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":  "metadata/",
		"operators.operatorframework.io.bundle.package.v1":   filepath.Base(filepath.Dir(dir)),
	})
}

// catalogImage returns the image of a catalog, which is one layer.
func catalogImage(dir string) (v1.Image, error) {
	name := filepath.Base(dir)
	return imageOf(filepath.Dir(dir), []string{name}, time.Unix(0, 0), map[string]string{
		"operators.operatorframework.io.index.configs.v1": "/" + name,
	})
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
