package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// bundleError returns an error if ref is a bundle directory or the manifests or metadata in one, else nil.
func bundleError(ref string) error {
	switch {
	case reference.Of(ref).Kind != reference.Directory:
	case bundle.Is(os.DirFS(ref)):
		return &render.BundleError{Ref: ref, What: "a bundle directory"}
	case bundleAround(ref) != "":
		return &render.BundleError{Ref: ref, What: "a part of the bundle directory " + bundleAround(ref)}
	}
	return nil
}

// notCatalog returns an error if nothing of a catalog could be read because ref is a bundle, else nil. Upstream reads a
// directory as a catalog even if it looks like a bundle, which may be due to names of packages.
func notCatalog(ref string, report *validate.Report) error {
	if report == nil || len(report.Problems) == 0 || len(report.Index.Packages()) > 0 {
		return nil
	}
	return bundleError(ref)
}

// ofParts returns the errors of those references that are parts of bundles, or err if there are none.
func ofParts(refs []string, err error) error {
	var errs []error
	for _, ref := range refs {
		if bundleAround(ref) != "" {
			errs = append(errs, bundleError(ref))
		}
	}
	return cmp.Or(errors.Join(errs...), err)
}

// warnIfNone warns if the references have no objects of the kind that the command reads.
func warnIfNone(cmd *cobra.Command, n int, what string, refs ...string) {
	if n > 0 {
		return
	}
	for _, ref := range refs {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: no %s in %q\n", what, ref)
	}
}

// bundleAround returns the bundle directory that has dir as its manifests or metadata, "" for none.
func bundleAround(dir string) string {
	parent, base := filepath.Split(filepath.Clean(dir))
	parent = filepath.Clean(parent)
	if (base == "manifests" || base == "metadata") && bundle.Is(os.DirFS(parent)) {
		return parent
	}
	return ""
}

// catalogError returns an error if ref is a directory or a file with objects of a catalog, or a part of a bundle, and
// not a bundle; else nil.
func catalogError(ctx context.Context, ref string) error {
	r := reference.Of(ref)
	if r.Kind != reference.Directory && r.Kind != reference.File || bundle.Is(os.DirFS(ref)) {
		return nil
	}
	if parent := bundleAround(ref); parent != "" {
		return fmt.Errorf("open bundle %q: it is a part of a bundle; run: %s", ref, shellLine("opm bundle validate", parent))
	}
	if holdsObjects(ctx, ref, r.Kind == reference.File) {
		return notBundle(ref, "a catalog")
	}
	return nil
}

// holdsObjects reports whether one of the first files that may be of a catalog has an object of one. It does not look
// far: the path may be /.
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

// notBundle returns the error of opening a catalog, or another object, as a bundle.
func notBundle(ref, what string) error {
	return fmt.Errorf("open bundle %q: not a bundle: it is %s; run: %s", ref, what, shellLine("opm validate", ref))
}

// advice returns what to do about err, "" if that is not known.
func advice(cmd *cobra.Command, err error) string {
	if b, ok := errors.AsType[*render.BundleError](err); ok {
		ref := b.Ref
		if parent := bundleAround(ref); parent != "" && reference.Of(ref).Kind == reference.Directory {
			ref = parent
		}
		if cmd.Name() == "validate" {
			return "run: " + shellLine("opm bundle validate", ref)
		}
		return "run: " + shellLine("opm render", ref)
	}
	e, ok := errors.AsType[*declcfg.Error](err)
	if ok && errors.Is(err, bundle.ErrNoImage) && bundle.Is(os.DirFS(e.Pos.File)) {
		return "name it with --" + imageRefTemplate + " 'registry.example/{{.Package}}-bundle:v{{.Version}}'"
	}
	return ""
}

// shellLine returns a command with an argument, which can be pasted into a shell.
func shellLine(command, arg string) string {
	if strings.HasPrefix(arg, "-") && arg != reference.Stdin {
		command += " --"
	}
	return command + " " + shell.Quote(arg)
}
