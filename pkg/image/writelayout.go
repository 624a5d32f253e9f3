package image

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/opm-toolchain/opm/internal/atomicfile"
)

// WriteLayout writes img into the OCI layout dir with this tag, which may be "". It creates dir if it does not exist,
// but not its parent directory. In an existing layout, the image replaces an index entry with the same tag, and no
// blob is removed.
//
// The image appears completely or not at all: a new layout is written next to dir and renamed, and in an existing one
// the index is replaced last. Processes that write to one layout concurrently wait for each other, if the system can
// lock a directory. A directory with other content is an error.
func WriteLayout(img Artifact, dir, tag string) error {
	if err := writeLayout(img, filepath.Clean(dir), tag); err != nil {
		return fmt.Errorf("write OCI layout %s: %w", dir, err)
	}
	return nil
}

func writeLayout(img Artifact, dir, tag string) error {
	_, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("create a directory next to it: %w", cmp.Or(errors.Unwrap(err), err))
		}
		err = newLayoutDir(img, dir, tag)
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, atomicfile.ErrNotEmpty) {
			return err
		}
	}
	return addToLayoutDir(img, dir, tag) // it may have been created just now
}

func newLayoutDir(img Artifact, dir, tag string) error {
	files, err := layoutFiles(img, tag, newLayoutIndex())
	if err != nil {
		return err
	}
	return atomicfile.NewDir(dir, func(root *os.Root) error { return writeEntries(root, files) })
}

// addToLayoutDir adds an image to a directory that is empty or an OCI layout.
func addToLayoutDir(img Artifact, dir, tag string) error {
	root, err := os.OpenRoot(dir)
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
		if err := file.copyTo(f); err != nil {
			return closing(err, f)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// readLayoutIndex returns the index of a layout, or a new one for an empty directory.
func readLayoutIndex(fsys fs.FS) (*layoutIndex, error) {
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
	index, err := parseLayoutIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is broken: %w", indexFile, err)
	}
	return index, nil
}
