package declcfg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// An Index is a catalog without its bulk: what relates its objects to each other, by package. It is small enough to be
// held for the largest catalogs. The zero value is empty.
type Index struct {
	packages map[string]*PackageIndex
}

// A PackageIndex is all that says to belong to one package, in the order in which it was read. A correct one holds one
// olm.package.
type PackageIndex struct {
	Name         string
	Packages     []Indexed[Package] // without description and icon
	Channels     []Indexed[Channel]
	Bundles      []Indexed[BundleSummary]
	Deprecations []Indexed[Deprecations] // without messages
}

// An Indexed is one object of an index.
type Indexed[T any] struct {
	Meta  *Meta
	Value *T // nil where the object could not be decoded
}

// A BundleSummary is a bundle without its manifests.
type BundleSummary struct {
	Name    string
	Image   string
	Version *Version // nil unless there is exactly one olm.package property, with a version that can be parsed

	// Dependency is the type of the first property that declares a dependency as OLM v1 refuses it: olm.gvk.required,
	// olm.package.required or olm.constraint. It is "" without one.
	Dependency string

	Deprecated bool // has the property olm.deprecated, with which OLM Classic never installs it
}

// Summarize returns b without its manifests.
func (b *Bundle) Summarize() *BundleSummary {
	s := &BundleSummary{Name: b.Name, Image: b.Image}
	if v, err := b.Version(); err == nil {
		s.Version = &v
	}
	for i := range b.Properties {
		t := b.Properties[i].Type
		if k := slices.Index(dependencies, t); k >= 0 && s.Dependency == "" {
			s.Dependency = dependencies[k] // not t, which is part of the text of the bundle
		}
		s.Deprecated = s.Deprecated || t == PropertyDeprecated
	}
	return s
}

// dependencies are the types of properties for which OLM v1 refuses a bundle.
var dependencies = []string{PropertyGVKRequired, PropertyPackageRequired, PropertyConstraint}

// ReadIndex reads the objects of the sources into an index. It does not validate them. The error joins all that keeps
// an object from being read, by place.
func ReadIndex(ctx context.Context, sources ...Source) (*Index, error) {
	return ReadIndexAndCheck(ctx, nil, sources...)
}

// ReadIndexAndCheck is [ReadIndex] with a check of each object that can be decoded. The check gets what [Object.Decode]
// returned, with all that the index drops, and runs on several goroutines. Its errors are joined with the others.
func ReadIndexAndCheck(ctx context.Context, check func(m *Meta, v any) error, sources ...Source) (*Index, error) {
	type object struct {
		meta  *Meta
		value any
	}
	decode := func(o *Object) (object, error) {
		v, err := o.Decode()
		if err == nil && check != nil {
			err = check(o.Meta, v)
		}
		return object{o.Meta, Slim(v)}, err
	}
	x := &Index{}
	var errs []error
	for o, err := range Map(ctx, decode, sources...) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		x.Add(o.meta, o.value)
	}
	slices.SortStableFunc(errs, CompareErrors)
	return x, errors.Join(errs...)
}

// Add enters m, which [Object.Decode] returned v for, or a bundle its [BundleSummary]; v is nil where that failed. It
// keeps m and v. Objects of other schemas are not entered.
func (x *Index) Add(m *Meta, v any) {
	if rank(m.Schema) == rankOther {
		return
	}
	p := x.owner(m.Owner())
	switch m.Schema {
	case SchemaPackage:
		p.Packages = append(p.Packages, indexed[Package](m, v))
	case SchemaChannel:
		p.Channels = append(p.Channels, indexed[Channel](m, v))
	case SchemaBundle:
		p.Bundles = append(p.Bundles, indexed[BundleSummary](m, v))
	case SchemaDeprecations:
		p.Deprecations = append(p.Deprecations, indexed[Deprecations](m, v))
	}
}

func indexed[T any](m *Meta, v any) Indexed[T] {
	value, _ := v.(*T)
	return Indexed[T]{m, value}
}

func (x *Index) owner(name string) *PackageIndex {
	p := x.packages[name]
	if p == nil {
		if x.packages == nil {
			x.packages = map[string]*PackageIndex{}
		}
		p = &PackageIndex{Name: name}
		x.packages[name] = p
	}
	return p
}

// Packages returns everything in the index by the name of the package, sorted; "" comes first and holds what belongs to
// no package.
func (x *Index) Packages() []*PackageIndex {
	all := slices.Collect(maps.Values(x.packages))
	slices.SortFunc(all, func(a, b *PackageIndex) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Package returns what belongs to the package of that name, nil for nothing.
func (x *Index) Package(name string) *PackageIndex { return x.packages[name] }

// Slim drops from a decoded object what an index does not need: a bundle becomes its [BundleSummary], icons, texts and
// properties go.
func Slim(v any) any {
	switch v := v.(type) {
	case *Package:
		v.Icon, v.Description, v.Properties, v.Unknown = nil, "", nil, nil
	case *Channel:
		v.Properties, v.Unknown = nil, nil
		v.Entries = slices.Clip(slices.Clone(v.Entries)) // decoding leaves room for more
	case *Bundle:
		return v.Summarize()
	case *Deprecations:
		v.Unknown = nil
		for i := range v.Entries {
			v.Entries[i].Message, v.Entries[i].Unknown = "", nil
		}
	}
	return v
}

// Version returns the version of b. It fails unless b has exactly one olm.package property, with a version that can be
// parsed.
func (b *Bundle) Version() (Version, error) {
	p, err := b.PackageProperty()
	if err != nil {
		return Version{}, err
	}
	return ParseVersion(p.Version, p.Release)
}

// PackageProperty returns the value of the olm.package property, of which b must have exactly one.
func (b *Bundle) PackageProperty() (*PackageProperty, error) {
	var found []*Property
	for i := range b.Properties {
		if b.Properties[i].Type == PropertyPackage {
			found = append(found, &b.Properties[i])
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("want exactly one property of type %s, found %d", PropertyPackage, len(found))
	}
	value := new(PackageProperty)
	return value, found[0].Unmarshal(value)
}

// Metas returns all objects of the package.
func (p *PackageIndex) Metas() []*Meta {
	var metas []*Meta
	metas = appendMetas(metas, p.Packages)
	metas = appendMetas(metas, p.Channels)
	metas = appendMetas(metas, p.Bundles)
	return appendMetas(metas, p.Deprecations)
}

func appendMetas[T any](metas []*Meta, all []Indexed[T]) []*Meta {
	for _, o := range all {
		metas = append(metas, o.Meta)
	}
	return metas
}
