// Package input finds the kind of object that a path on a command line names: a catalog, a bundle directory, a
// template. Its errors are about paths to another kind of object than the command needs.
package input

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// A Kind is the kind of object that a path names.
type Kind string

// The kinds.
const (
	Missing  Kind = "missing"
	Catalog  Kind = "a catalog"
	Bundle   Kind = "a bundle directory"
	Part     Kind = "a part of a bundle directory" // its manifests or metadata
	Template Kind = "a template"
	Other    Kind = "" // including images
)

// Of returns the kind of a path. It reads only a few files.
func Of(ctx context.Context, path string) Kind {
	kind := reference.Of(path).Kind
	switch {
	case kind == reference.Missing:
		return Missing
	case kind != reference.Directory && kind != reference.File:
		return Other
	case bundle.Is(os.DirFS(path)):
		return Bundle
	case BundleAround(path) != "":
		return Part
	case IsTemplate(path):
		return Template
	case kind == reference.Directory && holdsTemplate(path):
		return Other
	case holdsObjects(ctx, path, kind == reference.File):
		return Catalog
	}
	return Other
}

// holdsTemplate reports whether a directory has a template, so that its files are no catalog.
func holdsTemplate(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.yaml")) // fails on bad patterns only
	return slices.ContainsFunc(files[:min(len(files), 10)], IsTemplate)
}

// BundleAround returns the bundle directory that has dir as its manifests or metadata, "" for none.
func BundleAround(dir string) string {
	parent, base := filepath.Split(filepath.Clean(dir))
	parent = filepath.Clean(parent)
	if (base == "manifests" || base == "metadata") && bundle.Is(os.DirFS(parent)) {
		return parent
	}
	return ""
}

// holdsObjects reports whether a path has objects of a catalog. It reads only a few files near the top, since the path
// may be /.
func holdsObjects(ctx context.Context, path string, isFile bool) bool {
	fsys, files := os.DirFS(path), []string(nil)
	if isFile {
		fsys, files = os.DirFS(filepath.Dir(path)), []string{filepath.Base(path)}
	} else {
		for _, pattern := range []string{"*.json", "*.yaml", "*/*.json", "*/*.yaml"} {
			found, _ := fs.Glob(fsys, pattern) // fails on bad patterns only
			files = append(files, found...)
		}
	}
	schema := func(o *declcfg.Object) (string, error) { return o.Schema, nil }
	for _, file := range files[:min(len(files), 10)] {
		for _, err := range declcfg.Map(ctx, schema, declcfg.Source{FS: fsys, File: file}) {
			if err == nil {
				return true
			}
			break
		}
	}
	return false
}

// IsTemplate reports whether a reference is a file with a template.
func IsTemplate(ref string) bool {
	if reference.Of(ref).Kind != reference.File {
		return false
	}
	f, err := os.Open(ref)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && template.Recognized(f, info.Size())
}
