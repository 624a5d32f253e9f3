package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/atomicfile"
)

// directoryInfo returns the file info of an existing directory.
func directoryInfo(name string) (fs.FileInfo, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("directory %q does not exist", name)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%q is not a directory", name)
	}
	return info, nil
}

// inDirectory calls fn with a directory. One that does not exist appears as a whole once fn has succeeded.
func inDirectory(dir string, fn func(*os.Root) error) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.NewDir(dir, fn)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	case err != nil:
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(fn(root), root.Close())
}

// isWithin reports whether a path, which need not exist, is dir or inside it.
func isWithin(name string, dir fs.FileInfo) (bool, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return false, err
	}
	path, err := filepath.EvalSymlinks(name)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(name) != name {
		name = filepath.Dir(name)
		path, err = filepath.EvalSymlinks(name)
	}
	for ; err == nil; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil || os.SameFile(info, dir) {
			return err == nil, err
		}
		if filepath.Dir(path) == path {
			return false, nil
		}
	}
	return false, err
}

// fromHere returns a directory relative to the current one, with slashes.
func fromHere(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		if dir, err = filepath.Rel(here, dir); err != nil {
			return "", err
		}
	}
	return filepath.ToSlash(filepath.Clean(dir)), nil
}
