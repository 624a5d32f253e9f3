package image

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// WriteLayout writes img into an OCI layout, in which it is called by tag; it may have no tag. dir is made where there
// is none, in a directory that exists. In a layout that is there, the image takes the name of one that has it, and
// nothing is removed.
//
// It appears as a whole or not at all: a new layout is written next to dir and renamed, and in an old one the index is
// replaced last. Processes that write to one layout at once wait for each other, where the system can lock a directory.
// A directory that holds anything else is an error.
func WriteLayout(img v1.Image, dir, tag string) error {
	if err := writeLayout(img, filepath.Clean(dir), tag); err != nil {
		return fmt.Errorf("write OCI layout %s: %w", dir, err)
	}
	return nil
}

func writeLayout(img v1.Image, dir, tag string) error {
	_, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = newLayoutDir(img, dir, tag)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return addToLayoutDir(img, dir, tag) // which may have come into being just now
}

// newLayoutDir creates a layout. If dir exists by then, the error wraps fs.ErrExist.
func newLayoutDir(img v1.Image, dir, tag string) error {
	tmp := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+"."+rand.Text())
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return fmt.Errorf("create a directory next to it: %w", cmp.Or(errors.Unwrap(err), err))
	}
	defer os.RemoveAll(tmp) // already renamed after success
	if err := addToLayoutDir(img, tmp, tag); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// addToLayoutDir adds an image to the layout in a directory, which is empty or has one.
func addToLayoutDir(img v1.Image, dir, tag string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := lockDir(dir)
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
	return replaceFiles(root, slices.Concat(files[:1], files[2:], files[1:2])) // the index last
}

// replaceFiles writes files, one after the other, once all of them are on the disk.
func replaceFiles(root *os.Root, files []layoutEntry) error {
	tmp := ".tmp." + rand.Text()
	if err := root.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	defer func() { _ = root.RemoveAll(tmp) }() // the first error says more
	at := func(n int) string { return path.Join(tmp, strconv.Itoa(n)) }
	for n, file := range files {
		f, err := root.Create(at(n))
		if err != nil {
			return err
		}
		if err := file.copyTo(f); err != nil {
			return closing(err, f)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := root.MkdirAll(path.Dir(file.name), 0o777); err != nil {
			return err
		}
	}
	for n, file := range files {
		if err := root.Rename(at(n), file.name); err != nil {
			return err
		}
	}
	return nil
}

// readLayoutIndex returns the index of a layout, a new one for an empty directory.
func readLayoutIndex(fsys fs.FS) (*layoutIndex, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
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
	index, err := parseLayoutIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is broken: %w", indexFile, err)
	}
	return index, nil
}
