package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// directoryInfo returns what is known of a directory, which must be there.
func directoryInfo(name string) (fs.FileInfo, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no directory %q", name)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%q is not a directory", name)
	}
	return info, nil
}

// inDirectory calls fn with a directory, which is made where there is none, and goes away again with an error.
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
			_ = os.Remove(name) // unless someone else has put something into it
		}
	}
	return err
}

// makeDirectory makes a directory and those above it, and returns those that it made, the innermost first.
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
