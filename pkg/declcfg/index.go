package declcfg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// An Index holds the objects of a catalog by package, with only the fields that relate them to each other. It is small
// enough to hold the largest catalogs in memory. The zero value is empty.
type Index struct {
	packages map[string]*PackageIndex
}

// A PackageIndex holds the objects of one package, in the order in which they were read. In a valid catalog it has one
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
	Value *T // nil if the object could not be decoded
}

// A BundleSummary is a bundle without its manifests.
type BundleSummary struct {
	Name    string
	Image   string
	Version *Version // nil unless there is exactly one olm.package property, with a version that can be parsed

	// Dependency is the type of the first property that declares a dependency, which OLM v1 refuses: olm.gvk.required,
	// olm.package.required or olm.constraint. It is "" if there is none.
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

// ReadIndex reads the objects of the sources into an index. It does not validate them. The error joins the errors of
// all objects that cannot be read, sorted by position.
func ReadIndex(ctx context.Context, sources ...Source) (*Index, error) {
	return ReadIndexAndCheck(ctx, nil, sources...)
}

// ReadIndexAndCheck is [ReadIndex] with a check of each decoded object. The check is passed the result of
// [Object.Decode], with the fields that the index drops, and runs on several goroutines. Its errors are joined with the
// others.
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

// Add adds the object of m. The value v is the result of [Object.Decode], or the [BundleSummary] of a bundle; it is nil
// if decoding failed. The index keeps m and v. Objects of other schemas are not added.
func (x *Index) Add(m *Meta, v any) {
	if rank(m.Schema) == rankOther {
		return
	}
	name := m.Owner()
	p := x.packages[name]
	if p == nil {
		if x.packages == nil {
			x.packages = map[string]*PackageIndex{}
		}
		p = &PackageIndex{Name: name}
		x.packages[name] = p
	}
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

// Packages returns all packages, sorted by name. The first one, "", holds the objects without a package, if there are
// any.
func (x *Index) Packages() []*PackageIndex {
	return slices.SortedFunc(maps.Values(x.packages), func(a, b *PackageIndex) int { return cmp.Compare(a.Name, b.Name) })
}

// Package returns the package of that name, or nil.
func (x *Index) Package(name string) *PackageIndex { return x.packages[name] }

// Slim drops the fields of a decoded object that an index does not need: icons, texts, properties and unknown keys. A
// bundle becomes its [BundleSummary].
func Slim(v any) any {
	switch v := v.(type) {
	case *Package:
		v.Icon, v.Description, v.Properties, v.Unknown = nil, "", nil, nil
	case *Channel:
		v.Properties, v.Unknown = nil, nil
		v.Entries = slices.Clip(slices.Clone(v.Entries)) // decoding leaves room for more
		shareNames(v.Entries)
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

// shareNames makes equal names of entries share memory: most bundles are named by two entries.
func shareNames(entries []Entry) {
	names := make(map[string]string, len(entries))
	for i := range entries {
		names[entries[i].Name] = entries[i].Name
	}
	share := func(name *string) {
		if known, ok := names[*name]; ok {
			*name = known
		}
	}
	for i := range entries {
		share(&entries[i].Replaces)
		for k := range entries[i].Skips {
			share(&entries[i].Skips[k])
		}
	}
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
