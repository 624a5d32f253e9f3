package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// inDirectory calls fn with a directory. It creates the directory if needed, and removes it again if fn fails.
func inDirectory(dir string, fn func(*os.Root) error) (err error) {
	made, err := makeDirectory(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = errors.Join(fn(root), root.Close())
	}
	if err != nil {
		for _, name := range made {
			_ = os.Remove(name) // fails if someone else has written to it
		}
	}
	return err
}

// makeDirectory creates a directory and its parents, and returns those that it created, the innermost first.
func makeDirectory(dir string) (made []string, err error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%q is not a directory", dir)
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	above, err := makeDirectory(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return above, err
	}
	return append([]string{dir}, above...), nil
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
