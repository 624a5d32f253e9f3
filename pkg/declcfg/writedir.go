package declcfg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
)

// WriteDir writes metas, which are in the order of [Sort], as upstream lays out a catalog: PACKAGE/catalog.json (or
// .yaml) in dir for every package, and catalog.json in dir itself for what belongs to none. Dir must not exist or be
// empty; what is missing above it is made. When WriteDir fails, it removes what it wrote.
func WriteDir(ctx context.Context, dir string, metas []*Meta, opts WriteOptions) (err error) {
	if err := errors.Join(checkOwners(metas), checkPaths(metas)); err != nil {
		return err
	}
	if opts.Format == "" {
		opts.Format = JSON
	}
	made, err := makeEmptyDir(dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, undo(made, dir))
		}
	}()
	check := opts.Check
	opts.Check = nil // until all files are written
	for len(metas) > 0 {
		n := 1
		for n < len(metas) && metas[n].Owner() == metas[0].Owner() {
			n++
		}
		if err := writeFile(ctx, filepath.Join(dir, metas[0].Owner()), metas[:n], opts); err != nil {
			return err
		}
		metas = metas[n:]
	}
	if check != nil {
		return check()
	}
	return nil
}

func writeFile(ctx context.Context, dir string, metas []*Meta, opts WriteOptions) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, "catalog."+string(opts.Format))
	return atomicfile.Write(name, atomicfile.Options{}, func(w io.Writer) error {
		return Write(ctx, w, metas, opts)
	})
}

// checkPaths refuses packages whose name cannot be that of a directory.
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

// makeEmptyDir makes sure that dir is an empty directory. It returns the topmost directory that it made, "" for none.
func makeEmptyDir(dir string) (made string, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return "", fmt.Errorf("the output directory %q is not empty", dir)
	case err == nil:
		return "", nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("make the output directory: %w", err)
	}
	for above := filepath.Clean(dir); ; above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err == nil {
			break
		}
		made = above
	}
	err = os.MkdirAll(dir, 0o777)
	if err != nil && made != "" {
		err = errors.Join(err, os.RemoveAll(made))
	}
	return made, err
}

// undo removes what was written into dir, and the directories that were made for it, made being the topmost.
func undo(made, dir string) error {
	if made != "" {
		return os.RemoveAll(made)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
