package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Options configure a build.
type Options struct {
	// Platforms are the platforms of the image, at least one. If there are several, the image is an index.
	Platforms   []Platform
	Labels      map[string]string // of the image
	Annotations map[string]string // of its manifests, and of the index
	Created     time.Time         // as in [image.BuildOptions]
	HTTPAddr    string            // address for opm serve --http-addr; "" for gRPC only
	Limits      image.Limits      // as in [image.BuildOptions]

	// Valid is the report of a validation of the catalog that found no errors. Without it, Build validates the catalog.
	Valid *validate.Report
}

// A Platform is a platform of an image, with the opm that serves the catalog on it: a binary, a base image that has
// opm, or neither.
type Platform struct {
	Name   string // linux/arch or linux/arch/variant
	Binary *Binary
	Base   *Base
}

// An InvalidError reports that a catalog is invalid.
type InvalidError struct{ Report *validate.Report }

func (e *InvalidError) Error() string {
	return "the catalog is invalid: " + plural.Of(len(e.Report.Problems), "problem")
}

// Build builds the image of a catalog. If the catalog is invalid, the error is an *InvalidError. Build writes to
// temporary files only; closing the image removes them. The image
// needs the programs and bases of the platforms until it is closed; several images may have the same.
func Build(ctx context.Context, catalog declcfg.Source, o Options) (*Image, error) {
	key, err := store.KeyOf(ctx, catalog)
	if err != nil {
		return nil, err
	}
	report := o.Valid
	if report == nil {
		if report, err = validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, catalog); err != nil {
			return nil, err
		}
		if len(report.Problems) > 0 {
			return nil, &InvalidError{report}
		}
	}
	b := &builder{Options: o, packages: len(report.Index.Names())}
	g, packing := errgroup.WithContext(ctx)
	pack := func(fn func() error) { g.Go(func() error { return parallel.Catch(fn) }) }
	pack(func() error { return b.packPrograms(packing) })
	pack(func() error { return b.packStore(packing, key, catalog) })
	pack(func() error { return b.packCatalog(packing, catalog, report.Index) })
	err = g.Wait()
	if err == nil {
		var now store.Key
		if now, err = store.KeyOf(ctx, catalog); err == nil && now != key {
			err = store.ErrChanged
		}
	}
	return b.finish(err)
}

// BuildOpm builds the image of opm itself. It can be the base of catalog images and the builder stage of a
// Dockerfile. Every platform must have a Binary.
func BuildOpm(ctx context.Context, o Options) (*Image, error) {
	b := &builder{Options: o}
	return b.finish(b.packPrograms(ctx))
}

// A builder packs the layers of an image.
type builder struct {
	Options
	programs []*image.Layer // one per platform; nil if the platform has no Binary
	catalog  []*image.Layer // nil in the image of opm
	packages int            // number of packages in the catalog
	store    *image.Layer

	mu  sync.Mutex
	all []*image.Layer
}

// pack packs a layer, which is closed with the image.
func (b *builder) pack(ctx context.Context, c image.Content) (*image.Layer, error) {
	l, err := image.Pack(ctx, c, b.Created)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, l)
	return l, nil
}

func (b *builder) packPrograms(ctx context.Context) (err error) {
	b.programs = make([]*image.Layer, len(b.Platforms))
	for i, p := range b.Platforms {
		if p.Binary == nil {
			continue
		}
		if b.programs[i], err = p.Binary.pack(ctx, b.Created); err != nil {
			return err
		}
	}
	return nil
}

// packStore builds and packs the store if the opm of at least one platform can read it.
func (b *builder) packStore(ctx context.Context, key store.Key, catalog declcfg.Source) error {
	if !slices.ContainsFunc(b.Platforms, Platform.readsStore) {
		return nil
	}
	f, err := atomicfile.NewUnnamed("")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := store.Write(ctx, f, key, store.BuildOptions{HTTP: b.HTTPAddr != ""}, catalog); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b.store, err = b.pack(ctx, image.Content{Files: []image.File{
		tmp,
		directory(cacheDir),
		{Name: cacheDir + "/" + store.FileName(""), Mode: 0o644, Size: info.Size(), Content: f},
	}})
	return err
}

// packCatalog packs the files of the catalog, several layers concurrently.
func (b *builder) packCatalog(ctx context.Context, catalog declcfg.Source, index *declcfg.Index) error {
	parts, err := split(catalog, index)
	if err != nil {
		return err
	}
	pack := func(names []string) (*image.Layer, error) {
		return b.pack(ctx, image.Content{Source: catalog.FS, Names: names, Links: true, Target: catalogDir})
	}
	for layer, err := range parallel.Try(ctx, 0, slices.Values(parts), pack) {
		if err != nil {
			return fmt.Errorf("catalog %s: %w", catalog.Name, err)
		}
		b.catalog = append(b.catalog, layer)
	}
	return nil
}

// finish returns the image. If err is not nil, it closes the layers instead and returns err.
func (b *builder) finish(err error) (*Image, error) {
	img := &Image{layers: b.all, sizes: map[v1.Hash]int64{}, Summary: Summary{Packages: b.packages}}
	for i, p := range b.Platforms {
		if err == nil {
			opts, content := b.imageFor(p, b.programs[i])
			err = img.add(p.Name, opts, content)
		}
	}
	if err == nil {
		err = img.complete(b.Annotations)
	}
	if err != nil {
		return nil, errors.Join(err, img.Close())
	}
	return img, nil
}

// imageFor returns the options of the image for a platform, and the content of each layer for the summary.
func (b *builder) imageFor(p Platform, opm *image.Layer) (opts image.BuildOptions, content []string) {
	opts = image.BuildOptions{
		Platform: p.Name, Labels: b.Labels, Annotations: b.Annotations, Created: b.Created, Limits: b.Limits,
	}
	add := func(what string, layers ...*image.Layer) {
		opts.Layers = append(opts.Layers, layers...)
		content = append(content, slices.Repeat([]string{what}, len(layers))...)
	}
	if p.Base != nil {
		opts.Base = p.Base.image
	}
	if p.Binary != nil {
		opts.User, opts.Entrypoint = user, entrypoint
		add("opm", opm)
	}
	if b.catalog == nil {
		return opts, content
	}
	opts.Labels = map[string]string{image.LabelConfigs: "/" + catalogDir}
	maps.Copy(opts.Labels, b.Labels)
	opts.Entrypoint, opts.Cmd = p.command(b.HTTPAddr)
	add("catalog", b.catalog...)
	if p.readsStore() {
		add("store", b.store)
	}
	return opts, content
}
