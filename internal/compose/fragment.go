package compose

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A fragment is a reference and the state of its file in the catalog.
type fragment struct {
	*composer
	Reference
	index int    // index of the reference in the config
	path  string // path of its file, relative to Options.Dir

	old    *written // entry in the record; nil if compose did not write the file
	onDisk string   // digest of the existing file, "" if there is none

	source   string   // digest of an image in a registry, "" for other references
	packages []string // sorted
	dropped  []string
	digest   string // digest of the rendered file, "" if it was not rendered
}

// render renders the fragment unless it is up to date. It returns the problems of the catalog, or an error about the
// reference.
func (f *fragment) render(ctx context.Context) ([]*problem.Problem, error) {
	ref, err := locate(f.config.dir(), f.Image)
	if err != nil {
		return nil, err
	}
	if f.source, err = f.sourceDigest(ctx, ref); err != nil {
		return nil, err
	}
	// A reference that is not in a registry is always rendered: that takes no longer than comparing it.
	if o := f.old; o != nil && o.Image == f.Image && o.Source != "" && o.Source == f.source &&
		o.Settings == f.settings() && f.onDisk == o.Digest {
		f.packages, f.dropped = o.Packages, o.Dropped
		return nil, nil
	}
	return f.renderFrom(ctx, ref)
}

// sourceDigest returns the digest of an image in a registry, or "" for other references.
func (f *fragment) sourceDigest(ctx context.Context, ref string) (string, error) {
	if reference.Of(ref).Kind != reference.Registry {
		return "", nil
	}
	if _, digest, ok := strings.Cut(ref, "@"); ok {
		return digest, nil
	}
	if f.opts.Render.Images == nil {
		return "", fmt.Errorf("open catalog %q: images are not accepted here", ref)
	}
	images, err := f.opts.Render.Images()
	if err != nil {
		return "", err
	}
	return images.Digest(ctx, ref)
}

// locate returns a reference for package render, in which paths are relative to dir.
func locate(dir, text string) (string, error) {
	joined := filepath.Join(dir, text)
	rest, isLayout := strings.CutPrefix(text, reference.LayoutPrefix)
	switch {
	case text == reference.Stdin:
		return "", errors.New("standard input cannot be composed: want an image, a directory or a file")
	case isLayout && !filepath.IsAbs(rest):
		return reference.LayoutPrefix + filepath.Join(dir, rest), nil
	case isLayout || filepath.IsAbs(text):
		return text, nil
	}
	switch at := reference.Of(joined); at.Kind {
	case reference.Registry:
		return text, nil
	case reference.Missing:
		if err := reference.Of(text).Err; err != nil {
			return "", fmt.Errorf("open catalog %q: %w", joined, err) // this error has a hint for an image
		}
		return "", fmt.Errorf("open catalog %q: %w", joined, at.Err)
	}
	return joined, nil
}

// renderFrom renders a reference and stages its file.
func (f *fragment) renderFrom(ctx context.Context, ref string) ([]*problem.Problem, error) {
	catalog, err := render.Open(ctx, []string{ref}, f.opts.Render)
	if err != nil {
		return nil, err
	}
	defer catalog.Close()
	for _, locked := range catalog.Lock.References {
		f.source = locked.Digest // a tag may have moved
	}
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, catalog.Sources...)
	if err != nil {
		return nil, err
	}
	if len(report.Problems) > 0 {
		return report.Problems, nil
	}
	metas, err := catalog.Metas(ctx)
	if err != nil {
		return nil, err
	}
	if len(metas) == 0 {
		return nil, fmt.Errorf("open catalog %q: no objects: it is not a catalog", ref)
	}
	owners := map[string]bool{}
	for _, m := range metas {
		owners[m.Owner()] = true
	}
	delete(owners, "")
	f.packages = slices.Sorted(maps.Keys(owners))
	return nil, f.stage(ctx, metas, catalog.Edit)
}

// stage stages the file with these metas.
func (f *fragment) stage(ctx context.Context, metas []*declcfg.Meta, edit func(*declcfg.Bundle) error) error {
	h := sha256.New()
	write := func(w io.Writer) error {
		opts := declcfg.WriteOptions{Format: f.opts.Format, Edit: edit}
		return declcfg.Write(ctx, io.MultiWriter(w, h), metas, opts)
	}
	err := f.tx.Write(f.path, 0, write)
	f.digest = digestOf(h.Sum(nil))
	return err
}

// drop removes packages from the staged file, since other references provide them.
func (f *fragment) drop(ctx context.Context, packages []string) error {
	f.dropped = packages
	if len(packages) == 0 {
		return nil
	}
	source := declcfg.Source{Name: f.path, FS: f.tx.FS("."), File: f.path, Ordered: true}
	metas, err := declcfg.Metas(ctx, source)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(metas, func(m *declcfg.Meta) bool { return slices.Contains(packages, m.Owner()) })
	return f.stage(ctx, kept, nil)
}
