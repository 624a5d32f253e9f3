package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// BundleError returns an error if ref is a bundle directory or the manifests or metadata in one, else nil.
func BundleError(ctx context.Context, ref string) error {
	switch is := Of(ctx, ref); is {
	case Bundle:
		return &render.BundleError{Ref: ref, What: string(is)}
	case Part:
		return &render.BundleError{Ref: ref, What: "a part of the bundle directory " + BundleAround(ref)}
	}
	return nil
}

// NotCatalog returns an error if nothing of a catalog could be read because ref is a bundle, else nil. Upstream reads a
// directory as a catalog even if it looks like a bundle, which may be due to names of packages.
func NotCatalog(ctx context.Context, ref string, report *validate.Report) error {
	if report == nil || len(report.Problems) == 0 || len(report.Index.Names()) > 0 {
		return nil
	}
	return BundleError(ctx, ref)
}

// OfParts returns an error for each reference to a part of a bundle, or err if no reference is one.
func OfParts(ctx context.Context, refs []string, err error) error {
	var errs []error
	for _, ref := range refs {
		if BundleAround(ref) != "" {
			errs = append(errs, BundleError(ctx, ref))
		}
	}
	return cmp.Or(errors.Join(errs...), err)
}

// CatalogError returns an error if ref, which should be a bundle, is a directory or a file of a catalog, or a part of a
// bundle; else nil.
func CatalogError(ctx context.Context, ref string) error {
	switch Of(ctx, ref) {
	case Part:
		return fmt.Errorf("open bundle %q: it is a part of a bundle", ref)
	case Catalog:
		return NotBundle(ref, "a catalog")
	}
	return nil
}

// NotBundle returns the error for a bundle reference to something else, such as a catalog.
func NotBundle(ref, what string) error {
	return fmt.Errorf("open bundle %q: not a bundle: it is %s; run: %s", ref, what, shell.Line("opm validate", ref))
}

// TemplateError returns an error if a reference that should be a catalog is a template, with the command line that
// reads the rendered catalogs instead, else nil.
func TemplateError(command string, refs ...string) error {
	line, name := command, ""
	for _, ref := range refs {
		if !IsTemplate(ref) {
			line += " " + shell.Quote(ref)
			continue
		}
		name = cmp.Or(name, ref)
		line += " <(" + shell.Line("opm render-template", ref) + ")"
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("open catalog %q: not a catalog: it is a template; run: %s", name, line)
}
