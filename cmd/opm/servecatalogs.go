package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// A servedRef is one argument of opm serve.
type servedRef struct {
	name string // for HTTP
	ref  string
	once *render.Catalog // of what cannot be read twice, once it has been read
}

// servedCatalogs are the arguments of opm serve.
type servedCatalogs struct {
	refs   []*servedRef
	paths  []string // of directories and files, for --watch
	opts   render.Options
	images *images
}

// catalogs reads the arguments.
func (f *serveFlags) catalogs(cmd *cobra.Command, args []string) (*servedCatalogs, error) {
	c := &servedCatalogs{}
	seen := map[string]string{}
	for _, arg := range args {
		r := parseServedRef(arg)
		if other, ok := seen[r.name]; ok {
			return nil, usageError{fmt.Errorf("%q and %q are both named %s; name one, as in NAME=CATALOG", other, arg, r.name)}
		}
		if err := k8sname.Subdomain(r.name); err != nil && f.httpAddr != "" {
			return nil, usageError{fmt.Errorf("the name %q of %q: %w; name it, as in NAME=CATALOG", r.name, arg, err)}
		}
		seen[r.name] = arg
		isPath, _ := r.kind()
		if isPath {
			c.paths = append(c.paths, r.ref)
		} else if f.watch {
			return nil, usageError{fmt.Errorf("--watch needs directories or files, which %q is not", r.ref)}
		}
		c.refs = append(c.refs, r)
	}
	var err error
	if c.images, err = f.images.open(cmd); err != nil {
		return nil, err
	}
	c.opts = openOptions(cmd)
	c.opts.Images = c.images.opener
	return c, nil
}

// parseServedRef reads [NAME=]CATALOG. A path that exists is no name.
func parseServedRef(arg string) *servedRef {
	name, ref, named := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); err == nil || !named || strings.ContainsAny(name, "/:@") {
		return &servedRef{name: baseName(arg), ref: arg}
	}
	return &servedRef{name: name, ref: ref}
}

// baseName returns the last part of a reference, without what files end with and what follows the name of an image.
func baseName(ref string) string {
	if ref == render.Stdin {
		return "stdin"
	}
	if abs, err := filepath.Abs(ref); err == nil && !isImage(ref) {
		ref = filepath.ToSlash(abs)
	}
	base, _, _ := strings.Cut(path.Base(ref), "@")
	if isImage(ref) {
		base, _, _ = strings.Cut(base, ":")
	}
	for _, ext := range []string{".gz", ".tar", ".tgz", ".json", ".yaml", ".yml"} {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

// isImage tells whether a reference is none to a file or directory.
func isImage(ref string) bool {
	_, err := os.Stat(ref)
	return err != nil && strings.ContainsAny(ref, ":@")
}

// kind tells whether r is a directory or a file, and whether it can be read just once.
func (r *servedRef) kind() (isPath, once bool) {
	info, err := os.Stat(r.ref)
	switch {
	case r.ref == render.Stdin:
		return false, true
	case err != nil:
		return !isImage(r.ref), false
	}
	isPath = info.IsDir() || info.Mode().IsRegular()
	return isPath, !isPath
}

// open opens the catalogs for [serve.LoadOptions].
func (c *servedCatalogs) open(ctx context.Context) (*serve.Input, error) {
	in := &serve.Input{}
	var opened []*render.Catalog
	in.Close = func() {
		for _, catalog := range opened {
			catalog.Close()
		}
	}
	for _, r := range c.refs {
		catalog, err := r.open(ctx, c.opts)
		if err != nil {
			in.Close()
			return nil, err
		}
		if catalog != r.once {
			opened = append(opened, catalog)
		}
		in.Catalogs = append(in.Catalogs, serve.Catalog{Name: r.name, Source: catalog.Sources[0]})
	}
	return in, nil
}

func (r *servedRef) open(ctx context.Context, opts render.Options) (*render.Catalog, error) {
	if r.once != nil {
		return r.once, nil
	}
	_, once := r.kind()
	catalog, err := render.Open(ctx, []string{r.ref}, opts)
	if err == nil && once {
		r.once = catalog
	}
	return catalog, err
}

// names returns what the catalogs are called.
func (c *servedCatalogs) names() []string {
	var names []string
	for _, r := range c.refs {
		names = append(names, r.name)
	}
	return slices.Clip(names)
}

func (c *servedCatalogs) close() error {
	var errs []error
	for _, r := range c.refs {
		if r.once != nil {
			errs = append(errs, r.once.Close())
		}
	}
	return errors.Join(append(errs, c.images.close())...)
}
