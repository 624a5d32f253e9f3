package render

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// openBundle adds the bundle in fsys, which is a directory or an archive, as what says.
func (o *openedRef) openBundle(ctx context.Context, fsys fs.FS, what string) error {
	if o.Bundles == nil {
		return &BundleError{o.ref, "a bundle " + what}
	}
	return o.onCPU(ctx, func() error { return o.parseBundle(fsys, "") })
}

// parseBundle adds the bundle in fsys; image is its reference, or "".
func (o *openedRef) parseBundle(fsys fs.FS, image string) error {
	opts := *o.Bundles
	opts.Image = image
	if opts.Warn != nil {
		opts.Warn = func(e *declcfg.Error) { o.warnings = append(o.warnings, e) }
	}
	b, err := bundle.Parse(fsys, o.ref, opts)
	if err != nil {
		return err
	}
	if err := o.addBundle(b); err != nil {
		return err
	}
	return o.lockBundle(b)
}

// addBundle adds b as a catalog of one object, encoded as opm does.
func (o *openedRef) addBundle(b *declcfg.Bundle) error {
	text := declcfg.JSON.Append(document.Buffers.Get(), b)
	defer document.Buffers.Put(text)
	held, err := o.bundles.Add(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("store bundle %q: %w", o.ref, err)
	}
	source := declcfg.Source{Name: o.ref, FS: oneFile{held, held.Size()}, File: oneFileName, Ordered: true}
	o.sources = append(o.sources, source)
	if o.reused == (identity{}) && !o.Changes.mayFail() && len(text) <= document.DefaultLimit {
		o.parsed = source.Bundle(b, text)
	}
	return nil
}

// bundleMemory is the maximum size of the compressed bundles in memory, more than a hundred bundles. Others are stored
// in a file.
const bundleMemory = 4 << 20

// onCPU calls fn when a CPU is free.
func (o *openedRef) onCPU(ctx context.Context, fn func() error) error {
	if err := o.cpu.Acquire(ctx, 1); err != nil {
		return err
	}
	defer o.cpu.Release(1)
	return fn()
}

// A BundleError is the error of opening a bundle if only catalogs are accepted.
type BundleError struct {
	Ref  string
	What string // such as "a bundle directory"
}

func (e *BundleError) Error() string {
	return fmt.Sprintf("open catalog %q: not a catalog: it is %s", e.Ref, e.What)
}

// A Form is the way in which bundles carry their manifests.
type Form string

// The forms. "" keeps the form of each bundle.
const (
	FormObject   Form = "object"   // properties of type olm.bundle.object; see [bundle.ToObjects]
	FormMetadata Form = "metadata" // a property of type olm.csv.metadata; see [bundle.ToMetadata]
)

// Forms returns all forms.
func Forms() []Form { return []Form{FormObject, FormMetadata} }

// TargetForm returns the form that the registries of a target read; see [platform.Parse]. The target must be a release
// of OpenShift, such as ocp=4.16: the version of Kubernetes does not determine the form.
func TargetForm(target string) (Form, error) {
	p, err := platform.Parse(target)
	switch {
	case err != nil:
		return "", err
	case p.Metadata == declcfg.PropertyBundleObject:
		return FormObject, nil
	case p.Metadata == declcfg.PropertyCSVMetadata:
		return FormMetadata, nil
	}
	return "", fmt.Errorf("target %q does not decide the form of bundles: want ocp=VERSION, such as ocp=4.16", target)
}

// FormOf returns the form of a bundle, "" if it carries neither manifests nor metadata, or both.
func FormOf(b *declcfg.Bundle) Form {
	has := func(typ string) bool {
		return slices.ContainsFunc(b.Properties, func(p declcfg.Property) bool { return p.Type == typ })
	}
	switch objects, metadata := has(declcfg.PropertyBundleObject), has(declcfg.PropertyCSVMetadata); {
	case objects == metadata:
		return ""
	case objects:
		return FormObject
	}
	return FormMetadata
}

// convert converts b to the form. A bundle with neither manifests nor metadata is unchanged: registries read them from
// its image.
func (f Form) convert(b *declcfg.Bundle) error {
	if !slices.ContainsFunc(b.Properties, func(p declcfg.Property) bool { return bulk(p) == 1 }) {
		return nil
	}
	switch f {
	case FormObject:
		return bundle.ToObjects(b)
	case FormMetadata:
		return bundle.ToMetadata(b)
	}
	return nil
}

// A Migration is a migration level: the named migration and all earlier ones are applied.
type Migration string

// The levels, in order. "" is MigrateNone.
const (
	MigrateNone          Migration = "none"
	MigrateToCSVMetadata Migration = "bundle-object-to-csv-metadata" // see [bundle.MigrateToCSVMetadata]
	MigrateAll           Migration = "all"
	lastMigration                  = MigrateToCSVMetadata
)

// Migrations returns all levels.
func Migrations() []Migration { return []Migration{MigrateNone, MigrateToCSVMetadata, MigrateAll} }
