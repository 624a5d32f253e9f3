package declcfg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// WriteDir writes metas, which must be sorted by [Sort], in the layout of upstream: PACKAGE/catalog.json (or .yaml) in
// dir for every package, and catalog.json in dir itself for objects without a package. Dir must not exist or be empty;
// missing parents are created. Dir appears as a whole: all files are written next to it and then renamed.
func WriteDir(ctx context.Context, dir string, metas []*Meta, opts WriteOptions) error {
	if err := errors.Join(checkOwners(metas), checkPaths(metas)); err != nil {
		return err
	}
	if opts.Format == "" {
		opts.Format = JSON
	}
	var failed error
	err := atomicfile.NewDir(dir, func(root *os.Root) error {
		failed = writeFiles(ctx, root, dir, metas, opts)
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, atomicfile.ErrNotEmpty):
		return fmt.Errorf("the output directory %q is not empty", dir)
	case err != nil:
		return fmt.Errorf("make the output directory: %w", err)
	}
	return nil
}

// writeFiles writes the file of each package into root, whose name in errors is dir.
func writeFiles(ctx context.Context, root *os.Root, dir string, metas []*Meta, opts WriteOptions) error {
	check := opts.Check
	opts.Check = nil // until all files are written
	for len(metas) > 0 {
		n := 1
		for n < len(metas) && metas[n].Owner() == metas[0].Owner() {
			n++
		}
		name := path.Join(metas[0].Owner(), "catalog."+string(opts.Format))
		err := root.MkdirAll(path.Dir(name), 0o777)
		var f *os.File
		if err == nil {
			f, err = root.Create(name)
		}
		if err != nil {
			return fmt.Errorf("create %s: %w", filepath.Join(dir, name), regular.WithoutPath(err))
		}
		if err := Write(ctx, f, metas[:n], opts); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, name), regular.WithoutPath(err))
		}
		metas = metas[n:]
	}
	if check != nil {
		return check()
	}
	return nil
}

// checkPaths returns an error if the name of a package cannot be the name of a directory.
func checkPaths(metas []*Meta) error {
	var errs []error
	last := ""
	for _, m := range metas {
		owner := m.Owner()
		if owner == last || owner == "" {
			continue
		}
		last = owner
		if owner == "." || !filepath.IsLocal(owner) || strings.ContainsAny(owner, `/\`) {
			errs = append(errs, &Error{Pos: m.Pos, Err: fmt.Errorf("the package name %q cannot be that of a directory", owner)})
		}
	}
	return errors.Join(errs...)
}
