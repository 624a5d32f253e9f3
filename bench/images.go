//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/bench/internal/makeimage"
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
		dir, round := dirs[i%len(dirs)], i/len(dirs)
		img, err := makeimage.Bundle(dir, filepath.Base(filepath.Dir(dir)), time.Unix(int64(round), 0))
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	return images, nil
}
